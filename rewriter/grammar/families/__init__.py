"""The statements by family: their rules, values, builders and texts, as ``rewriter.grammar.statements`` describes.

Every module in this folder belongs to the dialect. Every module can be imported without lark.
"""
