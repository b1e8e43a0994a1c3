"""Text to statements: the lexer, the partition dialect in lark, spans of queries."""
