"""``python -m rewriter`` is the command ``rewriter``."""

import sys

from rewriter.cli.main import main

sys.exit(main())
