"""The handlers of the methods, a module for each family. Each lists its own in ``HANDLERS``."""
