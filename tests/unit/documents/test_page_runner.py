"""The runner of pages finds outputs that differ, and writes the actual ones where it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_runner import blocks, run_page


def page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "page.md"
    path.write_text(text.replace("~~~", "```"), encoding="utf-8")
    return path


def run(page: Path, *, rewrite: bool = False) -> None:
    directory = page.parent / "directory"
    directory.mkdir(exist_ok=True)
    run_page(page, directory, page.parent, {"/data": str(directory)}, rewrite=rewrite)


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        "~~~console\n$ echo a\na\n~~~",
        "~~~console\n$ echo a; echo b; echo c\na\n…\n~~~",
        "~~~console\n$ echo 12 s\n… s\n~~~",
        "~~~console\n$ X=1\n$ echo $X\n1\n~~~",
        "~~~console\n$ pwd; cd /data; pwd\n/data\n/data\n~~~",
        "~~~console\n$ cat <<END\na\nEND\na\n~~~",
        "~~~console\n$ (exit 3)\nexit code 3\n~~~",
        '~~~csv title="a/b.csv"\nx\n1\n~~~\n\n~~~console\n$ cat a/b.csv\nx\n1\n~~~',
        "~~~python\nx = 1\n~~~\n\n~~~python\nprint(x)\n~~~\n\n~~~output\n1\n~~~",
    ],
)
def test_a_page_whose_outputs_are_right_passes(tmp_path: Path, text: str) -> None:
    run(page(tmp_path, text))


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        "~~~console\n$ echo a\n~~~",
        "~~~console\n$ echo a\nb\n~~~",
        "~~~console\n$ echo a\na\nb\n~~~",
        "~~~console\n$ (exit 3)\n~~~",
        "~~~console\n$ true\nexit code 3\n~~~",
        "~~~python\nprint(1)\n~~~\n\n~~~output\n2\n~~~",
        "~~~python\nprint(1)\n~~~",
        "~~~python\nprint(1)\n~~~\n\n~~~python\nx = 1\n~~~",
        "~~~python\nx = 1\n~~~\n\n~~~output\n1\n~~~",
        "~~~text\na\n~~~",
        "~~~sql\nSELECT 1\n~~~",
        "~~~\na\n~~~",
        "- x\n  ~~~python\n  x = 1\n  ~~~",
        "~~~python\nx = 1",
    ],
)
def test_a_page_with_another_output_or_an_unknown_block_fails(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError):
        run(page(tmp_path, text))


def test_rewriting_replaces_only_what_differs(tmp_path: Path) -> None:
    text = "# A\n\n~~~console\n$ echo a\n…\n$ echo b\nc\n~~~\n\n~~~python\nprint(1)\n~~~\n\n~~~output\n~~~\n\nEnd\n"
    path = page(tmp_path, text)
    run(path, rewrite=True)
    assert path.read_text(encoding="utf-8") == text.replace("c\n~~~", "b\n~~~").replace(
        "output\n~~~", "output\n1\n~~~"
    ).replace("~~~", "```")
    run(path)


def test_blocks_have_their_place(tmp_path: Path) -> None:
    (block,) = blocks(page(tmp_path, '# A\n\n~~~toml title="a.toml"\nx = 1\n\ny = 2\n~~~\n'))
    assert (block.language, block.title, block.text, block.line) == ("toml", "a.toml", "x = 1\n\ny = 2", 3)
