"""The SQL shell: scripts and the prompt share one executor, in which texts consist of statements and commands.

A statement ends with ``;``. A command begins with a backslash where a statement could begin, and ends with its line.
Variables are replaced in statements before they are executed, each by one literal or identifier (``variables``). Only
``prompt`` and ``completion.prompt_completer`` import prompt_toolkit.
"""
