"""A real pseudo-terminal for tests of the shell: what a program writes is shown on the screen of an emulator."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

#: Seconds after which something that was awaited is a failure.
PATIENCE = 90


class Terminal:
    """A program in a terminal of ``columns`` by ``lines``. ``everything`` is all that it has written."""

    def __init__(self, command: list[str], home: Path, columns: int = 100, lines: int = 30, **environment: str) -> None:
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self.everything = b""
        variables = {**os.environ, "HOME": str(home), "TERM": "xterm-256color", "PAGER": "cat", **environment}
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "PROMPT_TOOLKIT_NO_CPR", "COLUMNS", "LINES"):
            variables.pop(name, None)
        self.process = pexpect.spawn(command[0], command[1:], env=variables, dimensions=(lines, columns), timeout=5)
        self.process.delaybeforesend = None
        self._screen.write_process_input = self.process.send  # Programs ask where the cursor is.

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(self.shown(), file=sys.stderr)
        self.process.close(force=True)

    def read(self, seconds: float = 0.05) -> bool:
        """Reads what the program has written meanwhile. Returns False after its end."""
        try:
            written = self.process.read_nonblocking(1 << 16, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.everything += written
        self._stream.feed(written)
        return True

    def shown(self) -> str:
        """Returns the lines of the screen, and those that have left it at the top."""
        above = [
            "".join(line[column].data for column in range(self._screen.columns)) for line in self._screen.history.top
        ]
        return "\n".join(line.rstrip() for line in (*above, *self._screen.display)).rstrip()

    def screen(self) -> list[str]:
        """Returns the lines of the screen alone."""
        return [line.rstrip() for line in self._screen.display]

    def until(self, is_there: str | Callable[[str], bool]) -> str:
        """Waits for a text on the screen, or for a condition on it. Returns what is shown then."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            alive = self.read()
            shown = self.shown()
            if is_there in shown if isinstance(is_there, str) else is_there(shown):
                return shown
            if not alive:
                break
        raise AssertionError(f"{is_there!r} is not shown:\n{self.shown()}")

    def prompts(self) -> int:
        """Returns the number of prompts that were shown."""
        return sum(line.startswith(("default> ", "default>", "default*>")) for line in self.shown().splitlines())

    def type(self, text: str) -> None:
        self.process.send(text)

    def is_ready(self) -> bool:
        """Tests whether the program waits at an empty prompt."""
        last_lines = [line for line in self.screen() if line][-2:]  # The last one may be the toolbar.
        return any(line in ("default>", "default*>") for line in last_lines)

    def run(self, text: str) -> str:
        """Types a text and Enter at an empty prompt, and waits for the next one. Returns what is shown then."""
        self.until(lambda _: self.is_ready())
        return self.enter(text)

    def enter(self, text: str) -> str:
        """Types the rest of a text and Enter, and waits for an empty prompt. Returns what is shown then."""
        before = self.prompts()
        self.type(f"{text}\r")
        return self.until(lambda _: self.is_ready() and self.prompts() > before)

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        self.process.setwinsize(lines, columns)

    def end(self) -> int:
        """Waits for the end of the program, and returns its exit code."""
        end = time.monotonic() + PATIENCE
        while self.read() and time.monotonic() < end:
            pass
        while self.process.isalive() and time.monotonic() < end:
            time.sleep(0.05)
        self.process.close()
        return int(self.process.exitstatus if self.process.exitstatus is not None else -self.process.signalstatus)
