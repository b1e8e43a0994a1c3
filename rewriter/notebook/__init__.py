"""The cell magic ``%%rewriter`` and the display of results, plans and covers in notebooks.

``%load_ext rewriter`` registers both. Only ``magic`` imports IPython.
"""
