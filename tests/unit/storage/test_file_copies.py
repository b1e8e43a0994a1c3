"""Copies of files: each is its original, or an error names the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewriter.catalog.storage import file_copies
from rewriter.catalog.storage.file_copies import FileCopy, checksum, copy_files, is_same
from rewriter.errors import OperationalError

SIZES = (0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 3 << 18)


def copies(tmp_path: Path, *contents: bytes) -> list[FileCopy]:
    made = []
    for number, content in enumerate(contents):
        source = tmp_path / f"source{number}"
        source.write_bytes(content)
        made.append(FileCopy(str(source), str(tmp_path / "w" / f"dt={number}" / "file"), len(content)))
    return made


@pytest.mark.share(1)
@pytest.mark.parametrize("size", SIZES)
def test_a_copy_is_its_original(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (copy,) = copies(tmp_path, content)
    done: list[int] = []
    copy_files([copy], (str(tmp_path / "w"),), done.append)
    assert Path(copy.target).read_bytes() == content
    assert done == [size]
    assert is_same(copy.source, copy.target, size)
    assert checksum(copy.source) == checksum(copy.target)


@pytest.mark.share(1)
@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("place", [0, -1])
def test_one_other_byte_is_found(tmp_path: Path, size: int, place: int) -> None:
    content = bytearray(os.urandom(size))
    (tmp_path / "a").write_bytes(content)
    content[place] ^= 1
    (tmp_path / "b").write_bytes(content)
    assert not is_same(str(tmp_path / "a"), str(tmp_path / "b"), size)
    assert checksum(str(tmp_path / "a")) != checksum(str(tmp_path / "b"))


def test_another_size_and_a_missing_file_are_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ab")
    (tmp_path / "b").write_bytes(b"abc")
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert not is_same(a, b, 2)
    assert not is_same(a, a, 3)
    assert not is_same(a, str(tmp_path / "c"), 2)


def test_a_system_that_cannot_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise OSError(next(iter(file_copies._NOT_IN_SYSTEM)), "no")

    monkeypatch.setattr(os, "copy_file_range", refused)
    (copy,) = copies(tmp_path, b"x" * 100_000)
    copy_files([copy], (str(tmp_path / "w"),), lambda size: None)
    assert Path(copy.target).read_bytes() == b"x" * 100_000


def test_a_copy_that_differs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_by_system = file_copies._copied_by_system

    def damaged(copy: FileCopy) -> None:
        copy_by_system(copy)
        with open(copy.target, "r+b") as file:
            file.write(b"!")

    monkeypatch.setattr(file_copies, "_copied_by_system", damaged)
    with pytest.raises(OperationalError) as caught:
        copy_files(copies(tmp_path, b"a" * 10, b"b" * 10), (str(tmp_path / "w"),), lambda size: None)
    assert caught.value.condition == "COPY_DIFFERS"


def test_an_original_of_another_size_is_an_error(tmp_path: Path) -> None:
    (copy,) = copies(tmp_path, b"abc")
    with pytest.raises(OperationalError, match="it has 3 bytes, and the catalog says 4"):
        copy_files([FileCopy(copy.source, copy.target, 4)], (str(tmp_path / "w"),), lambda size: None)


def test_a_missing_original_and_a_target_that_exists(tmp_path: Path) -> None:
    (copy,) = copies(tmp_path, b"abc")
    with pytest.raises(OperationalError, match="nowhere cannot be read"):
        copy_files([FileCopy(str(tmp_path / "nowhere"), copy.target, 3)], (str(tmp_path / "w"),), lambda size: None)
    copy_files([copy], (str(tmp_path / "w"),), lambda size: None)
    with pytest.raises(OperationalError, match="cannot be written: File exists"):
        copy_files([copy], (str(tmp_path / "w"),), lambda size: None)


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    (copy,) = copies(tmp_path, b"abc")
    (tmp_path / "w").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w" / "dt=0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OperationalError, match="cannot be written"):
        copy_files([copy], (str(tmp_path / "w"),), lambda size: None)
    assert list((tmp_path / "elsewhere").iterdir()) == []
