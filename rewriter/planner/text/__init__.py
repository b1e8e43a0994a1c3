"""The user's text with its tokens and sqlglot tree, and edits of it.

The text is edited, not regenerated: printing a parsed query changes its meaning (``'it''s'`` becomes ``its``, exact
percentiles become approximate). Nodes of sqlglot keep their places, so a reference or a call is replaced in the text
and the rest stays as typed.
"""
