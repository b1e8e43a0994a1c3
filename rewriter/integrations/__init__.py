"""Adapters for other programs. They use sessions as every caller does, and import the other program when first used."""
