"""Generators of pages in docs/reference, which read the code; ``pytest tests/unit/documents --rewrite`` writes them."""
