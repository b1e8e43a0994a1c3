"""Runs the texts of a shell: statements, with variables, and commands. The prompt and ``rewriter sql`` share it."""

from __future__ import annotations

from rewriter.errors import Error, InterfaceError, ParseError, shift_position
from rewriter.shell.commands import run_command
from rewriter.shell.script import Piece, PieceKind, pieces
from rewriter.shell.shell_session import Interrupted, ShellSession

#: The most files that are read within each other.
_DEEPEST_FILES = 20


def run_script(shell: ShellSession, text: str, bail: bool, depth: int = 0) -> bool:
    """Runs a text whose pieces can all be read; otherwise nothing of it. Returns whether it ended without an error.

    With ``bail``, the first error ends it. ``depth`` is the number of files around it. Raises ``Interrupted`` and
    ``QuitShell``.
    """
    try:
        read = list(pieces(text))
    except ParseError as error:
        shell.report(error, text)
        return False
    is_successful = True
    for piece in read:
        if not _run_piece(shell, piece, text, bail, depth):
            is_successful = False
            if bail:
                break
    return is_successful


def _run_piece(shell: ShellSession, piece: Piece, text: str, bail: bool, depth: int) -> bool:
    shell.check_interruption()
    is_command = piece.kind is PieceKind.COMMAND
    try:
        if not is_command:
            _run_statement(shell, piece, text)
        elif (file := run_command(shell, piece.of(text))) is not None:
            if depth >= _DEEPEST_FILES:
                raise InterfaceError(
                    f"Files are read within each other more than {_DEEPEST_FILES} deep.",
                    object="\\i",
                    hint="A file that reads itself never ends.",
                )
            is_successful = run_script(shell, file, bail, depth + 1)
            if not is_successful:
                shell.say(f"This was in a file that {piece.of(text)} read.")
            return is_successful
        return True
    except Error as error:
        if shell.interruption.is_requested and error.condition == "OPERATION_CANCELED":
            raise Interrupted from None
        if is_command:
            error.position = None  # It was in a text that the command made.
        shell.report(error, text)
        return False


def _run_statement(shell: ShellSession, piece: Piece, text: str) -> None:
    statement = piece.of(text)
    shell.last_statement = statement
    try:
        bound = shell.substituted(statement)
    except Error as error:
        raise shift_position(error, piece.span) from None
    try:
        shell.execute(bound.text, is_vertical=piece.is_vertical)
    except Error as error:
        error.position = bound.original(error.position)
        raise shift_position(error, piece.span) from None
