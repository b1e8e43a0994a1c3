"""The display of results, covers and errors, in a terminal and as HTML."""
