"""A family of statements is complete: rules have builders, values have texts, and nothing is registered twice."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from lark import Lark

from rewriter.errors import InternalError
from rewriter.grammar.dialect_rules import dialect_rules, is_word, keywords
from rewriter.grammar.families.views import DropView
from rewriter.grammar.statements import BUILDERS, RENDERERS, Statement, builds, families, readers, reads, renders
from rewriter.grammar.unparse import render


def kinds_below(kind: type[Statement]) -> set[type[Statement]]:
    below = kind.__subclasses__()
    return {leaf for child in below for leaf in kinds_below(child)} if below else {kind}


def grammar() -> Lark:
    return Lark(dialect_rules(), start=["start", "filter"], parser=None, lexer="basic", maybe_placeholders=True)


def test_every_rule_has_a_builder_and_every_builder_a_rule() -> None:
    """All rules need one, except those that return their only part."""
    names = {rule.alias or rule.origin.name for rule in grammar().rules if rule.alias or not rule.options.expand1}
    assert {name for name in names if not name.startswith("_")} == BUILDERS.keys()


def test_the_keywords_are_all_words_of_the_grammar() -> None:
    spellings = (terminal.pattern.value for terminal in grammar().terminals if terminal.pattern)
    assert keywords() - {"SELECT", "VALUES"} == {spelling for spelling in spellings if is_word(spelling)}


def test_every_kind_of_statement_has_a_text() -> None:
    families()
    # Those of programs have no text.
    with_text = {kind for kind in kinds_below(Statement) if not kind.__module__.startswith("rewriter.runtime.")}
    assert with_text == RENDERERS.keys()


def test_texts_stand_beside_the_values() -> None:
    families()
    assert [kind for kind, render in RENDERERS.items() if render.__module__ != kind.__module__] == []


def test_what_builds_a_statement_stands_beside_it() -> None:
    built = {build.__module__.rpartition(".")[2] for build in BUILDERS.values()}
    assert built == {*families(), "shared_rules", "dialect_rules"}


def test_the_order_of_families_is_that_of_their_names() -> None:
    assert list(families()) == sorted(families())
    assert dialect_rules().splitlines()[1].startswith("?start: statement_of_clusters | statement_of_columns | ")


def test_a_second_registration_is_refused() -> None:
    families()
    with pytest.raises(ValueError, match="The rule drop_view already has a builder: drop_view"):
        builds("drop_view")(lambda: None)
    with pytest.raises(ValueError, match="DropView already has a renderer: drop_view_text"):
        renders(DropView)(lambda statement: "")
    with pytest.raises(ValueError, match="EXPLAIN already has a reader: read_explain"):
        reads("EXPLAIN")(lambda text, tokens: None)
    assert readers()["EXPLAIN"].__module__ == "rewriter.grammar.families.queries"


def test_a_statement_without_a_text_is_an_error() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Nameless:
        pass

    with pytest.raises(InternalError, match="there is no renderer for the statement Nameless"):
        render(Nameless())  # type: ignore[arg-type]


def test_families_load_without_lark() -> None:
    code = (
        "import sys; from rewriter.grammar.statements import families; from rewriter.grammar.unparse import quote_name;"
        "families(); assert quote_name('table') == '`table`'; sys.exit('lark' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_quoted_though_no_family_was_imported() -> None:
    code = "from rewriter.grammar.unparse import quote_name; assert quote_name('coverage') == '`coverage`'"
    subprocess.run([sys.executable, "-c", code], check=True)


FAMILY = '''
from dataclasses import dataclass

from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import Name
from rewriter.grammar.unparse import name_text, words

RULES = r"""
?statement: pin | unpin
pin: "PIN" [HARD] name
unpin: "UNPIN" name
"""


@dataclass(frozen=True, kw_only=True)
class Pin(Statement):
    table: Name
    hard: bool = False
    off: bool = False


@builds("pin")
def pin(hard, table):
    return Pin(table=table, hard=hard is not None)


@builds("unpin")
def unpin(table):
    return Pin(table=table, off=True)


@renders(Pin)
def pin_text(s):
    return words("UNPIN" if s.off else "PIN", "HARD" if s.hard else None, name_text(s.table))
'''


def test_a_file_is_all_that_the_syntax_of_a_statement_needs(tmp_path: Path) -> None:
    """New words are keywords where the rule wants them, names elsewhere, and quoted in rendered text."""
    (tmp_path / "pins.py").write_text(FAMILY, encoding="utf-8")
    code = f"""
from rewriter.grammar import families
families.__path__.append({str(tmp_path)!r})
from rewriter.errors import ParseError
from rewriter.grammar.parser import parse
from rewriter.grammar.unparse import render
assert render(parse("pin hard t")) == "PIN HARD t"
assert render(parse("PIN HARD")) == "PIN `HARD`"
assert render(parse("unpin pin.hard")) == "UNPIN `pin`.`hard`"
assert render(parse("DROP TABLE unpin")) == "DROP TABLE `unpin`"
try:
    parse("EXPLAIN PIN t")
except ParseError as error:
    raise AssertionError(error)
except Exception as error:
    assert "EXPLAIN of PIN is not supported yet" in str(error), error
try:
    parse("UNPIM t")
except ParseError as error:
    assert "Statements are" in error.hint, error.hint
"""
    subprocess.run([sys.executable, "-c", code], check=True)
