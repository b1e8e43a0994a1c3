"""The command line: ``rewriter`` and ``rewriter catalog``."""
