"""``python -m rewriter`` is the command ``rewriter``."""

import sys

from rewriter.cli.main import run_process

sys.exit(run_process())
