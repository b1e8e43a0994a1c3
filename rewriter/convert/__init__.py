"""``rewriter convert``: a script of Hive or of Spark as one that runs here.

The product itself says what it refuses: each statement is parsed, and each setting set, as in a session. The rules hold
only what stays different: ``refusals`` for statements that are refused, and ``lenient`` for expressions that return
NULL in Hive, and in Spark without ANSI mode. A rule edits spans of the text, so layout and comments stay, and leaves a
comment. Where the meaning is not certain, the statement stays as it is, and the report names it.
"""
