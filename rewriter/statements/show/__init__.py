"""SHOW and DESCRIBE: they only read."""
