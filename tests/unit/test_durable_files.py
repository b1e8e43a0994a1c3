"""Files that appear with their whole content, whatever fails meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from rewriter.directory_changes import sync_directory, write_whole


def test_a_file_is_replaced_or_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert write_whole(str(path), "one\n", replace=False)
    assert not write_whole(str(path), "two\n", replace=False)
    assert path.read_bytes() == b"one\n"
    assert write_whole(str(path), "ü\n", replace=True)
    assert path.read_bytes() == "ü\n".encode()
    assert os.listdir(tmp_path) == ["a.json"]


def test_the_umask_decides_who_reads_a_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(str(tmp_path / "a"), "", replace=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o640


@pytest.mark.parametrize("replace", [True, False])
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool) -> None:
    path = tmp_path / "a"
    path.write_text("one")

    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space"):
        write_whole(str(path), "two", replace=replace)
    with pytest.raises(OSError, match="No space"):
        write_whole(str(tmp_path / "b"), "two", replace=replace)
    assert (os.listdir(tmp_path), path.read_text()) == (["a"], "one")


def test_file_and_directory_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, list[str]]] = []

    def noted(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        synced.append((kind, [name for name in os.listdir(tmp_path) if not name.startswith(".")]))

    monkeypatch.setattr(os, "fsync", noted)
    write_whole(str(tmp_path / "a"), "one", replace=False)
    assert synced == [("file", []), ("directory", ["a"])]


@pytest.mark.parametrize(("code", "is_raised"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_a_file_system_need_not_sync_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_raised: bool
) -> None:
    def fails(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fails)
    if is_raised:
        with pytest.raises(OSError, match="Input/output error"):
            sync_directory(str(tmp_path))
    else:
        sync_directory(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        sync_directory(str(tmp_path / "missing"))
