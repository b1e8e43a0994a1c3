"""Results, plans and covers as HTML.

The HTML is well-formed XML, escapes all values, is bounded, and sets no colour of text, so that it is readable on dark
pages. A display of a result takes no row from it.
"""
