"""The values that a plan consists of."""
