"""Background readers that keep the cache current: they follow the log of commits and load frequently read objects."""
