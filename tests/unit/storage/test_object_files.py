"""Files of an object store: names, sizes, and what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.object_files import ObjectFiles
from rewriter.catalog.filesystems.options import store_options
from rewriter.catalog.filesystems.registry import store_of, using
from rewriter.errors import OperationalError

#: Names that a pattern, a URI or a shell could misread.
NAMES = ["a", "b c", "50%25", "d=%2F", "[x]*?", "ä+é", ".hidden", "it's"]


class Place(NamedTuple):
    root: str
    files: ObjectFiles


@pytest.fixture
def place(object_store: ObjectStore) -> Iterator[Place]:
    with using(store_options(object_store.options, "test")):
        yield Place(object_store.uri, store_of(object_store.uri))


def upload(place: Place, tmp_path: Path, contents: dict[str, bytes]) -> None:
    pairs = []
    for number, (name, content) in enumerate(contents.items()):
        source = tmp_path / f"source-{number}"
        source.write_bytes(content)
        pairs.append((str(source), f"{place.root}/{name}"))
    done: list[int] = []
    place.files.upload(pairs, done.append)
    assert sum(done) == len(pairs)


def test_files_are_found(place: Place, tmp_path: Path) -> None:
    contents = {f"t/{name}/{name}": name.encode() * number for number, name in enumerate(NAMES)}
    upload(place, tmp_path, contents)
    expected = sorted((f"{place.root}/{name}", len(content)) for name, content in contents.items())
    found = place.files.files_below(f"{place.root}/t")
    assert [(file.path, file.bytes) for file in found] == expected
    assert all(file.modified > 10**18 for file in found)
    assert place.files.entries(f"{place.root}/t") == sorted((name, True) for name in NAMES)
    assert place.files.entries(f"{place.root}/t/a") == [("a", False)]
    for name, content in contents.items():
        file = place.files.find(f"{place.root}/{name}")
        assert file is not None
        assert file.bytes == len(content)
        with place.files.open(file.path) as opened:
            assert opened.read() == content
        with place.files.open_stream(file.path) as opened:
            assert opened.read() == content


def test_what_is_not_there(place: Place) -> None:
    absent = f"{place.root}/x/y"
    assert place.files.find(absent) is None
    assert place.files.find(place.root) is None
    assert place.files.files_below(absent) == []
    assert place.files.entries(absent) == []
    assert not place.files.has_files(absent)
    assert not place.files.has_directory(absent)
    assert place.files.delete([absent]) == []
    place.files.delete_below(absent)
    with pytest.raises(OperationalError) as caught:
        place.files.open(absent).read()
    assert caught.value.condition == "FAILED_READ_FILE"
    assert absent in caught.value.message


def test_files_are_deleted(place: Place, tmp_path: Path) -> None:
    upload(place, tmp_path, dict.fromkeys(("t/a/1", "t/a/2", "t/ab/3", "u/4"), b"x"))
    assert place.files.delete([f"{place.root}/t/a/1"]) == []
    assert place.files.find(f"{place.root}/t/a/1") is None
    assert place.files.has_directory(f"{place.root}/t/a")
    place.files.delete_below(f"{place.root}/t/a")
    assert not place.files.has_files(f"{place.root}/t/a")
    left = [file.path.removeprefix(place.root) for file in place.files.files_below(place.root)]
    assert left == ["/t/ab/3", "/u/4"]
    assert place.files.has_files(f"{place.root}/u/4")


@pytest.mark.parametrize("size", [0, 1, (8 << 20) - 1, 8 << 20, (24 << 20) + 5])
def test_sizes(place: Place, tmp_path: Path, size: int) -> None:
    """In pieces, and in the parts of a large upload."""
    content = bytes(range(251)) * (size // 251 + 1)
    upload(place, tmp_path, {"f": content[:size]})
    with place.files.open(f"{place.root}/f") as file:
        assert file.read() == content[:size]


def test_a_source_that_is_not_there(place: Place, tmp_path: Path) -> None:
    with pytest.raises(OperationalError) as caught:
        place.files.upload([(str(tmp_path / "absent"), f"{place.root}/f")])
    assert caught.value.condition == "FAILED_WRITE_FILE"
    assert place.files.files_below(place.root) == []
