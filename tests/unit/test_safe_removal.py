"""Removal that follows no link, wherever and whenever one is created."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rewriter.directory_changes import (
    discard_tree,
    files_below,
    link_in,
    make_directory,
    move_file,
    remove_directory,
    remove_empty,
    remove_file,
    remove_tree,
)

LEVELS = ("sales.db", "t-1", "write_id=3", "p=a")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Creates a directory with the same names as the warehouse. None of its files may be removed."""
    directory = tmp_path / "precious"
    directory.joinpath(*LEVELS).mkdir(parents=True)
    for depth in range(len(LEVELS) + 1):
        directory.joinpath(*LEVELS[:depth], "part").write_text("keep")
        directory.joinpath(*LEVELS[depth:], "part").parent.mkdir(parents=True, exist_ok=True)
        directory.joinpath(*LEVELS[depth:], "part").write_text("keep")
    return directory


def contents(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def linked(tmp_path: Path, precious: Path, depth: int) -> Path:
    """Creates a warehouse in which the directory at a depth is a link to the precious one, which has the same names
    below it.
    """
    root = tmp_path / "warehouse"
    above = root.joinpath(*LEVELS[:depth])
    above.mkdir(parents=True)
    (above / LEVELS[depth]).symlink_to(precious.joinpath(*LEVELS[: depth + 1]), target_is_directory=True)
    return root


REMOVALS: tuple[Callable[[str, tuple[str, ...]], object], ...] = (
    remove_file,
    remove_tree,
    discard_tree,
    remove_empty,
    remove_directory,
)


@pytest.mark.parametrize("depth", range(len(LEVELS)))
@pytest.mark.parametrize("remove", REMOVALS)
def test_a_link_on_the_way_is_not_followed(
    remove: Callable[[str, tuple[str, ...]], object], depth: int, tmp_path: Path, precious: Path
) -> None:
    root = linked(tmp_path, precious, depth)
    before = contents(precious)
    path = str(root.joinpath(*LEVELS, "part"))
    if remove in (discard_tree, remove_empty):
        remove(path, (str(root),))
    else:
        with pytest.raises(OSError, match="is a symbolic link") as raised:
            remove(path, (str(root),))
        assert raised.value.errno == errno.ELOOP
        assert raised.value.filename == str(root.joinpath(*LEVELS[: depth + 1]))
    assert list(files_below(path, (str(root),))) == []
    assert contents(precious) == before
    assert link_in(path, (str(root),)) == str(root.joinpath(*LEVELS[: depth + 1]))


@pytest.mark.parametrize("remove", [remove_file, remove_tree, discard_tree])
@pytest.mark.parametrize("depth", range(len(LEVELS)))
def test_a_link_at_the_end_goes_itself(
    remove: Callable[[str, tuple[str, ...]], None], depth: int, tmp_path: Path, precious: Path
) -> None:
    root = linked(tmp_path, precious, depth)
    before = contents(precious)
    link = root.joinpath(*LEVELS[: depth + 1])
    assert [(entry.path, entry.is_link) for entry in files_below(str(link), (str(root),))] == [(str(link), True)]
    remove(str(link), (str(root),))
    assert not os.path.lexists(link)
    assert contents(precious) == before


def test_links_in_a_tree_go_with_it_and_lead_nowhere(tmp_path: Path, precious: Path) -> None:
    tree = tmp_path / "warehouse" / "write_id=3"
    (tree / "p=a").mkdir(parents=True)
    (tree / "p=a" / "part").write_text("x")
    (tree / "p=b").symlink_to(precious)
    (tree / "file").symlink_to(precious / "part")
    (tree / "dangling").symlink_to(tmp_path / "nowhere")
    (tree / "loop").symlink_to(tree)
    roots = (str(tmp_path / "warehouse"),)
    entries = {(os.path.relpath(entry.path, tree), entry.is_link) for entry in files_below(str(tree), roots)}
    assert entries == {("p=a/part", False), ("p=b", True), ("file", True), ("dangling", True), ("loop", True)}
    before = contents(precious)
    remove_tree(str(tree), roots)
    assert not tree.exists()
    assert contents(precious) == before


def test_nothing_outside_of_the_roots_goes(tmp_path: Path, precious: Path) -> None:
    root = tmp_path / "warehouse"
    root.mkdir()
    before = contents(tmp_path)
    for path in (precious / "part", root / ".." / "precious" / "part", root, Path("warehouse"), tmp_path):
        for remove in (remove_file, remove_tree, remove_directory):
            with pytest.raises(OSError) as raised:  # noqa: PT011
                remove(str(path), (str(root),))
            assert raised.value.errno == errno.EPERM
        discard_tree(str(path), (str(root),))
        remove_empty(str(path), (str(root),))
    assert contents(tmp_path) == before


def test_a_root_may_be_a_link_and_be_spelled_in_several_ways(tmp_path: Path) -> None:
    (tmp_path / "disk" / "warehouse").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "warehouse")
    for number, spelled in enumerate(
        ("link", "disk/warehouse", "disk/../link", "disk/./warehouse", "link/../warehouse")
    ):
        file = tmp_path / "disk" / "warehouse" / f"t-{number}" / "part"
        file.parent.mkdir()
        file.write_text("x")
        remove_file(os.path.join(tmp_path, spelled, f"t-{number}", "part"), (str(tmp_path / "link"),))
        assert not file.exists()


def test_directories_and_files_are_made_without_links(tmp_path: Path, precious: Path) -> None:
    root = tmp_path / "warehouse"
    make_directory(str(root / "a" / "b"), (str(root),))
    with pytest.raises(FileExistsError):
        make_directory(str(root / "a" / "b"), (str(root),))
    make_directory(str(root / "a" / "b"), (str(root),), exist_ok=True)
    (root / "file").write_text("x")
    (root / "link").symlink_to(precious)
    before = contents(precious)
    for path in ("link", "link/c", "link/c/d"):
        with pytest.raises(OSError, match="is a symbolic link"):
            make_directory(str(root / path), (str(root),), exist_ok=True)
    with pytest.raises(OSError, match="is a symbolic link"):
        move_file(str(root / "file"), str(root / "link" / "file"), (str(root),))
    with pytest.raises(OSError, match="is a symbolic link"):
        move_file(str(root / "link" / "part"), str(root / "part"), (str(root),))
    with pytest.raises(NotADirectoryError):
        make_directory(str(root / "file"), (str(root),), exist_ok=True)
    move_file(str(root / "file"), str(root / "a" / "file"), (str(root),))
    assert (root / "a" / "file").read_text() == "x"
    assert contents(precious) == before


def test_empty_directories_go_and_others_stay(tmp_path: Path) -> None:
    for path in ("w/t-1/a/b", "w/t-1/a/c", "w/t-1/d"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "w/t-1/a/c/part").write_text("x")
    remove_empty(str(tmp_path / "w/t-1"), (str(tmp_path / "w"),))
    assert contents(tmp_path / "w") == {"t-1", "t-1/a", "t-1/a/c", "t-1/a/c/part"}
    remove_file(str(tmp_path / "w/t-1/a/c/part"), (str(tmp_path / "w"),))
    remove_empty(str(tmp_path / "w/t-1"), (str(tmp_path / "w"),))
    assert contents(tmp_path / "w") == set()


def test_a_directory_that_becomes_a_link_between_look_and_removal(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is replaced at each system call in turn: what is removed is always that of the directory."""
    before = contents(precious)
    for call in ("stat", "open", "unlink", "rmdir", "lstat", "scandir"):
        for at in range(6):
            root = tmp_path / f"warehouse-{call}-{at}"
            tree = root.joinpath(*LEVELS)
            tree.mkdir(parents=True)
            (tree / "part").write_text("x")
            original, count = getattr(os, call), [0]

            def swapped(*given: object, original: object = original, **named: object) -> object:
                count[0] += 1  # noqa: B023
                if count[0] == at + 1:  # noqa: B023
                    directory = root / "sales.db" / "t-1"  # noqa: B023
                    os.rename(directory, directory.with_name("aside"))
                    os.symlink(precious / "sales.db" / "t-1", directory)
                return original(*given, **named)  # type: ignore[operator]

            with monkeypatch.context() as patched:
                patched.setattr(os, call, swapped)
                discard_tree(str(root / "sales.db" / "t-1" / "write_id=3"), (str(root),))
            assert contents(precious) == before, (call, at)


def test_a_race_with_one_who_swaps_directories_and_links(tmp_path: Path, precious: Path) -> None:
    root, ended = tmp_path / "warehouse", threading.Event()
    before = contents(precious)
    directory = root / "sales.db" / "t-1"

    def swap() -> None:
        chance = random.Random(7)
        while not ended.is_set():
            victim = directory / "write_id=3" if chance.random() < 0.5 else directory
            aside = victim.with_name("aside")
            try:
                os.rename(victim, aside)
                os.symlink(precious.joinpath(*victim.relative_to(root).parts), victim)
                os.unlink(victim)
                os.rename(aside, victim)
            except OSError:
                continue

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(400):
            try:
                tree = root.joinpath(*LEVELS)
                make_directory(str(tree), (str(root),), exist_ok=True)
                make_directory(str(tree / "q=1"), (str(root),), exist_ok=True)
                remove_tree(str(directory / "write_id=3"), (str(root),))
            except OSError:
                continue
            discard_tree(str(directory), (str(root),))
    finally:
        ended.set()
        swapper.join()
    assert contents(precious) == before
