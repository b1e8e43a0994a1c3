"""The environment of one statement: settings, parameters, context, progress, the open transaction, its result."""
