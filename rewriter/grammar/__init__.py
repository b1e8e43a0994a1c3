"""Parses text to statements and renders it back: the lexer, the parser of the dialect (lark), filters, spans of
queries.

The statements themselves are in ``families``. ``statements`` defines how they register and finds them by name, so this
folder imports none of them.
"""
