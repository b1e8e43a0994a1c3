"""Runs the blocks of a page of ``docs/``: its commands, programs and files, in their order, in one directory.

| language | what happens |
| --- | --- |
| ``console`` | bash runs the commands behind ``$ ``; each prints the lines that follow it |
| ``python`` | the program runs, in one namespace for all programs of the page |
| ``output`` | the program before it has printed this |
| any other with ``title="path"`` | the text is written to this file of the directory |
| ``golden`` | a case of a golden file (``documents.check_examples``); with a title, a file |
| ``syntax`` | the form of a statement (``tests/unit/documents/test_syntax_blocks.py``) |

In an output, a line ``…`` stands for any lines, and ``…`` in a line for any text. A command has to succeed, except
where its output ends with ``exit code N``. ``ELSEWHERE`` names the tests of the blocks that need more than a directory.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: The files of tests that run other blocks of a page: for a language, or for a language and a title.
ELSEWHERE: dict[str, dict[str, str]] = {
    # A picture.
    "explanation/what-a-query-costs.md": {"text": "tests/unit/documents/test_pages.py"},
    "how-to/metastore.md": dict.fromkeys(("console", "python", "sh"), "tests/unit/documents/test_metastore_page.py"),
    "how-to/notebooks.md": {"ipython": "tests/integrations/notebook_cases.py"},
    "how-to/pictures.md": {"sh live.sh": "tests/unit/documents/test_pictures_page.py"},
    "how-to/scheduling.md": {
        "sh load.sh": "tests/unit/documents/test_scheduling.py",
        "sh metric.sh": "tests/unit/documents/test_scheduling.py",
        "sh worker.sh": "tests/unit/documents/test_scheduling.py",
        "ini sales.service": "tests/unit/documents/test_scheduling.py",
        "ini sales.timer": "tests/unit/documents/test_scheduling.py",
        "python dags/sales.py": "tests/integrations/test_airflow.py",
        "python sales_assets.py": "tests/integrations/dagster_cases.py",
    },
    "how-to/spark-cluster.md": dict.fromkeys(("sh", "console"), "tests/integrations/test_spark_cluster_page.py"),
    "how-to/spark-session.md": dict.fromkeys(("python orders.py", "output"), "tests/contract/test_spark_frames.py"),
    "how-to/sqlalchemy.md": {"ipython": "tests/integrations/jupysql_cases.py"},
    "how-to/streaming.md": {"python ticks.py": "tests/contract/test_streaming_page.py"},
    "reference/api.md": {"text": "tests/unit/documents/test_api_page.py"},
    "reference/shell.md": {"text": "tests/unit/documents/test_shell_page.py"},
    "reference/errors.md": {"text": "tests/unit/documents/test_error_page.py"},
    "tutorial/first-cube.md": {"text": "tests/unit/documents/test_tutorial_shell.py"},
}
#: The longest time of a command, in seconds.
_LIMIT = 300


@dataclass(frozen=True)
class Block:
    """A block between fences. ``line`` is that of its first line of text, from 0."""

    language: str
    title: str
    text: str
    line: int


@dataclass
class Corrections:
    """The outputs that differ: lines of the page, and the lines that should be there."""

    rows: list[tuple[int, int, list[str]]] = field(default_factory=list)

    def compare(self, shown: list[str], printed: str, line: int) -> None:
        actual = printed.splitlines()
        while actual and not actual[-1].strip():
            actual.pop()
        if not is_same_output(shown, actual):
            self.rows.append((line, line + len(shown), actual))

    def write(self, page: Path) -> None:
        lines = page.read_text(encoding="utf-8").splitlines()
        for start, end, actual in reversed(self.rows):
            lines[start:end] = actual
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def report(self, page: Path) -> str:
        lines = page.read_text(encoding="utf-8").splitlines()
        parts = [
            "\n".join(
                [f"{page}:{start + 1}", *(f"-{line}" for line in lines[start:end]), *(f"+{line}" for line in actual)]
            )
            for start, end, actual in self.rows
        ]
        return "\n\n".join(parts)


def blocks(page: Path) -> list[Block]:
    """Returns the blocks of a page. Raises ``AssertionError`` if a fence has no language, is indented or stays open."""
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if opened is None and line.lstrip().startswith("```"):
            match = re.fullmatch(r'```([\w-]+)(?: title="([^"]+)")?', line)
            assert match, f"{page.name}:{number + 1}: a fence has a language, and at most a title"
            opened = (match[1], match[2] or "", number + 1)
        elif opened is not None and line == "```":
            language, title, start = opened
            found.append(Block(language, title, "\n".join(lines[start:number]), start))
            opened = None
    assert opened is None, f"{page.name}: a block is not closed"
    return found


def is_run_elsewhere(page: str, block: Block) -> str | None:
    """Returns the file of the test that runs the block, or ``None``."""
    tests = ELSEWHERE.get(page, {})
    return tests.get(f"{block.language} {block.title}", tests.get(block.language))


def run_page(
    page: Path, directory: Path, commands: Path, replacements: Mapping[str, str] | None = None, *, rewrite: bool = False
) -> None:
    """Runs the blocks of a page in the directory. Raises ``AssertionError`` where an output differs.

    ``commands`` is a directory with executables for the PATH. ``replacements`` replace texts of the page in what is run
    and are undone in outputs. With ``rewrite``, the actual outputs are written into the page.
    """
    name, corrections = _name(page), Corrections()
    replaced = dict(replacements or {})
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    with contextlib.chdir(directory), contextlib.closing(_Bash(directory, commands)) as bash:
        for block in blocks(page):
            is_case = block.language == "golden" and not block.title
            if is_case or block.language == "syntax" or is_run_elsewhere(name, block):
                continue
            where = f"{name}:{block.line}"
            if block.language == "output":
                assert printed is not None, f"{where}: no program has printed this"
                corrections.compare(block.text.splitlines(), _undone(printed, replaced), block.line)
                printed = None
                continue
            assert not printed, f"{where}: the program before it prints something; show it in a block `output`"
            printed = None
            if block.title:
                _write(directory / block.title, _done(block.text, replaced) + "\n")
            elif block.language == "console":
                for command, shown, line in commands_of(block):
                    actual = _undone(bash.run(_done(command, replaced), f"{name}:{line}"), replaced)
                    corrections.compare(shown, actual, line)
            else:
                assert block.language == "python", f"{where}: nothing runs a block of {block.language}"
                printed = _program(_done(block.text, replaced), where, namespace)
    assert not printed, f"{name}: the last program prints something; show it in a block `output`"
    if rewrite:
        corrections.write(page)
    else:
        assert not corrections.rows, f"\n{corrections.report(page)}\n\npytest --rewrite accepts the actual output."


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):
        path.chmod(0o755)


def _program(text: str, where: str, namespace: dict[str, object]) -> str:
    """Runs a program, and returns what it printed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, where, "exec"), namespace)
    return output.getvalue()


def commands_of(block: Block) -> list[tuple[str, list[str], int]]:
    """Returns the commands of a block: each with the lines that it prints, and their place in the page.

    A command has more lines where bash needs them: after a backslash, in quotes, in a heredoc.
    """
    found: list[tuple[str, list[str], int]] = []
    lines = block.text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        assert line.startswith("$ "), f"line {block.line + number + 1} is no command"
        command = line[2:]
        number += 1
        while not _is_complete(command) and number < len(lines):
            command += "\n" + lines[number].removeprefix("> ")
            number += 1
        start = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        found.append((command, lines[start:number], block.line + start))
    return found


def _is_complete(command: str) -> bool:
    checked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
    return checked.returncode == 0 and not command.endswith("\\") and "here-document" not in checked.stderr


def is_same_output(shown: list[str], actual: list[str]) -> bool:
    """Returns whether lines are those that a page shows, where ``…`` stands for anything."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r" *\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None


def _done(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text


def _undone(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in sorted(replacements.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(new, old)
    return text


class _Bash:
    """One bash for all commands of a page: variables and directories stay."""

    def __init__(self, directory: Path, commands: Path) -> None:
        environment = {name: os.environ[name] for name in os.environ if not name.startswith(("PYTEST_", "REWRITER_"))}
        path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
        environment |= {
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "160",
            "XDG_CONFIG_HOME": str(directory / "…"),
        }
        self._process = subprocess.Popen(
            ["bash", "--norc"], cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", start_new_session=True,
        )  # fmt: skip

    def run(self, command: str, where: str) -> str:
        """Returns what the command printed. The last line is its exit code, if that is not 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        end = secrets.token_hex(8)
        self._process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n{end} %s\\n' $?\n")
        self._process.stdin.flush()
        printed: list[str] = []
        timer = threading.Timer(_LIMIT, self._kill)
        timer.start()
        try:
            for line in self._process.stdout:
                if line.startswith(end):
                    code = int(line.split()[1])
                    text = "".join(printed)[:-1]
                    return text if code == 0 else f"{text.rstrip()}\nexit code {code}".lstrip("\n")
                printed.append(line)
        finally:
            timer.cancel()
        raise AssertionError(f"{where}: bash ended, or the command took {_LIMIT} s\n{''.join(printed)}")

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ends bash and the processes in its background."""
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
