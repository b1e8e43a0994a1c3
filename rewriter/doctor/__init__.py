"""``rewriter doctor``: checks of the installation, the machine and one warehouse, each with what to do.

A check is a plain function that returns values (``check.Check``); it prints nothing. None makes a warehouse, starts
Spark unasked, or changes a catalog. The only writes are temporary files in a warehouse that may be written, which are
removed. No detail has a password or a token.
"""
