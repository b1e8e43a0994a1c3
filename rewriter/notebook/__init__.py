"""The cell magic ``%%rewriter``, with completion of names: ``%load_ext rewriter``. Only ``magic`` imports IPython."""
