"""Directories that engines spill into end with their process, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter import scratch_directories
from rewriter.scratch_directories import PREFIX, ScratchDirectory, remove_dead


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sets the system's temporary directory for this process and its children."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield directory
    monkeypatch.undo()


def started(code: str) -> subprocess.Popen[str]:
    """Starts a process that has run the code, reports it, and waits."""
    text = textwrap.dedent(code) + "\nprint('ready', flush=True)\nimport time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


SPILLING = """
    from rewriter.scratch_directories import ScratchDirectory
    kept = ScratchDirectory("test")
    open(kept.path + "/spilled", "w").write("x")
"""


def test_the_next_start_removes_what_the_killed_left(root: Path) -> None:
    dead, alive = started(SPILLING), started(SPILLING)
    try:
        (left,) = [path for path in root.iterdir() if path.name.startswith(PREFIX)][:1]
        assert len(list(root.glob(f"{PREFIX}*/spilled"))) == 2
        killed(dead)
        own = ScratchDirectory("test")
        # That of the process that lives, and our own.
        assert len(list(root.iterdir())) == 2
        assert len(list(root.glob(f"{PREFIX}*/spilled"))) == 1
        killed(alive)
        remove_dead(str(root))
        assert [str(path) for path in root.iterdir()] == [own.path]
        own.remove()
        own.remove()
        assert list(root.iterdir()) == []
        assert not left.exists()
    finally:
        killed(dead)
        killed(alive)


def test_duckdb_spills_into_such_a_directory(root: Path) -> None:
    process = started("""
        import tempfile
        import rewriter
        connection = rewriter.connect(tempfile.mkdtemp(), engine="duckdb")
        connection.execute("SELECT 1").fetchall()
    """)
    assert len(list(root.glob(f"{PREFIX}duckdb-*"))) == 1
    killed(process)
    remove_dead(str(root))
    assert list(root.glob(f"{PREFIX}*")) == []


def test_links_and_what_belongs_to_others_are_left_alone(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (root / f"{PREFIX}link").symlink_to(outside)
    (root / f"{PREFIX}file").write_text("x")
    (root / "rewriter-other").mkdir()
    inner = root / f"{PREFIX}inner"
    inner.mkdir()
    (inner / "link").symlink_to(outside)
    remove_dead(str(root))
    assert (outside / "kept").read_text() == "x"
    assert sorted(path.name for path in root.iterdir()) == sorted([f"{PREFIX}link", f"{PREFIX}file", "rewriter-other"])
    remove_dead(str(root / "absent"))


def test_a_directory_of_another_user_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / f"{PREFIX}theirs").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: os.stat(root).st_uid + 1)
    remove_dead(str(root))
    assert (root / f"{PREFIX}theirs").is_dir()


def test_a_directory_that_was_swept_before_it_was_locked_is_made_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, raced = scratch_directories.fcntl.flock, []

    def race(descriptor: int, how: int) -> None:
        if not raced:
            raced.append(descriptor)
            os.rmdir(os.readlink(f"/proc/self/fd/{descriptor}"))
        lock(descriptor, how)

    monkeypatch.setattr(scratch_directories.fcntl, "flock", race)
    own = ScratchDirectory("test")
    assert os.path.isdir(own.path)
    own.remove()


def test_a_forked_child_leaves_its_parents_directory(root: Path) -> None:
    own = ScratchDirectory("test")
    child = os.fork()
    if child == 0:
        own.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.isdir(own.path)
    # The child has closed its copy of the lock; the parent's holds.
    remove_dead(str(root))
    assert os.path.isdir(own.path)
    own.remove()


def test_what_a_killed_process_leaves_is_removed_by_the_next(root: Path, tmp_path: Path) -> None:
    """Private catalogs, too: of an open transaction, of a warehouse that is not there, and of one that is only read."""
    process = started(f"""
        from pathlib import Path
        from rewriter.catalog.store import sqlite
        from rewriter.session import Session
        session = Session("{tmp_path}/w", "duckdb")
        session.execute("CREATE TABLE t (n INT)")
        session.execute("START TRANSACTION")
        session.execute("INSERT INTO t VALUES (1)")
        session.execute("SELECT * FROM t")
        absent = Session("{tmp_path}/absent", "duckdb")
        assert list(absent.execute("SELECT 1").rows()) == [(1,)]
        source = sqlite._Source(Path("{tmp_path}/w/catalog.db"))
        source._access_mode = lambda: ("copy", sqlite._file_state(source._path), None)
        source.connect()
    """)
    kinds = {path.name.removeprefix(PREFIX).split("-")[0] for path in root.iterdir()}
    assert kinds >= {"transaction", "absent", "catalog", "duckdb"}
    assert all(path.name.startswith(PREFIX) for path in root.iterdir())
    killed(process)
    own = ScratchDirectory("test")
    assert [str(path) for path in root.iterdir()] == [own.path]
    own.remove()
