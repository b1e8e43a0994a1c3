"""Partition values, ordered key bytes and directory names, and the conversions between them."""
