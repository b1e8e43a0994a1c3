"""A group of commands that has a default one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class DefaultGroup(click.Group):
    """Runs the command ``default`` where the first word is no command: an option, or, with ``takes_words``, any word.

    ``rewriter -e 'SELECT 1'`` is ``rewriter shell -e 'SELECT 1'``.
    """

    def __init__(self, *arguments: Any, default: str, takes_words: bool = False, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.default, self.takes_words = default, takes_words

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        first = next((word for word in args if word != "--debug"), None)
        is_default = first is None if not self.takes_words else first is not None and first not in self.commands
        if first is not None and first.startswith("-"):
            is_default = first not in own
        return super().parse_args(ctx, [self.default, *args] if is_default else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises ``UsageError`` with the option that runs a file, if a file stands in place of a command."""
        if args[0] not in self.commands and not self.takes_words and Path(args[0]).is_file():
            raise click.UsageError(
                f"No such command '{args[0]}'. To run the statements of a file, use -f {args[0]}.", ctx
            )
        return super().resolve_command(ctx, args)
