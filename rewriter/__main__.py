"""``python -m rewriter`` is the command ``rewriter``."""

import sys

from rewriter.cli import main

sys.exit(main())
