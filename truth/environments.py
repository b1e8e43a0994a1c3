"""A virtual environment for each tool, with pinned versions, made once and kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class Tool:
    """A tool of ``tools.toml``. ``version_of`` names the package whose version the table shows."""

    name: str
    module: str
    requirements: tuple[str, ...]
    version_of: str


def tools() -> tuple[Tool, ...]:
    """Returns all tools in the order of the table."""
    entries = tomllib.loads((ROOT / "tools.toml").read_text())["tools"]
    return tuple(
        Tool(entry["name"], entry["module"], tuple(entry["requirements"]), entry["version_of"]) for entry in entries
    )


def interpreter(tool: Tool, folder: Path, product: Path) -> Path:
    """Returns the Python of a tool's environment. Makes the environment if it is not there, which downloads.

    A tool without requirements runs by ``product``.
    """
    if not tool.requirements:
        return product
    made = folder / tool.name
    python = made / "bin" / "python"
    stamp = made / "requirements.txt"
    wanted = "\n".join(tool.requirements)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"{tool.name}: installing {', '.join(tool.requirements)}", file=sys.stderr)
        venv.create(made, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *tool.requirements], check=True)
        stamp.write_text(wanted)
    return python


def version(tool: Tool, python: Path) -> str:
    """Returns the package that a tool's version is that of, and its installed version."""
    code = f"from importlib.metadata import version; print(version({tool.version_of!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return f"{tool.version_of} {done.stdout.strip()}"


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables of a child process. ``folder`` is its home, so that a tool writes nothing elsewhere."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH", "USER") if name in os.environ}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT.parent), kept.get("PYTHONPATH"))))
    return kept | {"HOME": str(folder), "TZ": "UTC", "DO_NOT_TRACK": "1"}
