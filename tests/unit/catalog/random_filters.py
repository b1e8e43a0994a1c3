"""Random tables, rows and filters of every partition type: few values, so that they meet, and some from all over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hypothesis import strategies as st

from rewriter.catalog.filters.predicates import ScanFilter
from rewriter.catalog.filters.scan_plans import PartitionFilterGenerator, Scan, scans_of_plan
from rewriter.catalog.keys.java_floats import java_double, java_float
from rewriter.catalog.model.objects import Column
from rewriter.grammar import filters as f
from rewriter.grammar.terms import Literal

from .filter_model import DOMAINS

Row = tuple[str | None, ...]


def scans_of(tree: ScanFilter | None, columns: Sequence[Column], prefix: bytes) -> tuple[Scan, ...]:
    """Returns the scans of a bound filter."""
    return scans_of_plan(PartitionFilterGenerator(len(columns)).plan(tree), columns, prefix)


TYPES = sorted(DOMAINS)
PATTERNS = ["a%", "%", "_", "%b", "a_", "a\\%", "A\\%", "%a%b%", "1%", "", "é", "2020%", "%0"]

#: Bytes that keys escape and their neighbors, characters with a meaning in patterns, characters of one to four bytes.
_CHARACTERS = st.sampled_from("\x00\x01\x02\x03\x7fabA%_\\ 01éÿ\u3042\uffff\U0001f600\U0010ffff")
_TEXTS = st.text(_CHARACTERS, max_size=4)
_PIECES = st.text(st.sampled_from("\x01\x02\x03abA 0éÿ\u3042\U0001f600"), max_size=2)


def _moment(moment: datetime) -> str:
    seconds, _, fraction = moment.isoformat(" ").partition(".")
    return seconds + (f".{fraction.rstrip('0')}" if fraction else "")


def _integers(width: int) -> st.SearchStrategy[str]:
    bound = 1 << (8 * width - 1)
    return st.integers(-bound, bound - 1).map(str)


#: By type: canonical texts.
_WILD: dict[str, st.SearchStrategy[str]] = {
    "tinyint": _integers(1),
    "smallint": _integers(2),
    "int": _integers(4),
    "bigint": _integers(8),
    "decimal(6,2)": st.integers(-999_999, 999_999).map(lambda n: f"{'-' * (n < 0)}{abs(n) // 100}.{abs(n) % 100:02}"),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: java_double(x or 0.0)),
    "float": st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda x: java_float(x or 0.0)),
    "string": _TEXTS,
    "varchar(4)": _TEXTS,
    "char(3)": _TEXTS.map(lambda text: text[:3].ljust(3)),
    "date": st.dates().map(str),
    "timestamp": st.datetimes().map(_moment),
    "boolean": st.sampled_from(["false", "true"]),
}


def values(type: str) -> st.SearchStrategy[str]:
    """Returns canonical values of a type."""
    return st.sampled_from(DOMAINS[type][0]) | _WILD[type]


def literals(type: str) -> st.SearchStrategy[Literal]:
    """Literals that compare with a type, NULL among them."""
    literals = st.sampled_from([("null", ""), *DOMAINS[type][1] * 3]).map(lambda pair: Literal(*pair))
    return literals | _TEXTS.map(lambda text: Literal("string", text)) if type in ("string", "varchar(4)") else literals


@st.composite
def tables(draw: st.DrawFn, most: int = 3, stored: bool = True) -> tuple[list[Column], list[Row]]:
    """Returns up to ``most`` partition columns and forty rows of values. With ``stored`` a catalog accepts them."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=most))
    columns = [Column(f"p{i}", type) for i, type in enumerate(types)]
    fields = [st.none() | (values(type).filter(_is_stored) if stored else values(type)) for type in types]
    return columns, draw(st.lists(st.tuples(*fields), max_size=40, unique=True))


def _is_stored(text: str) -> bool:
    """Returns True if a catalog accepts the value: an empty text is NULL's name, and NUL is refused."""
    return text != "" and "\0" not in text


def patterns() -> st.SearchStrategy[str]:
    """Patterns of LIKE: pieces, wildcards and what is taken plainly."""
    parts = _PIECES | st.sampled_from(["%", "%", "%", "_", "\\%", "\\_", "\\\\"])
    return st.sampled_from(PATTERNS) | st.lists(parts, max_size=5).map("".join)


@st.composite
def predicates(draw: st.DrawFn, columns: list[Column]) -> f.Filter:
    """Returns one condition on one of the columns."""
    column = draw(st.sampled_from(columns))
    literal = literals(column.type)
    kind = draw(st.integers(0, 9))
    if kind < 5:
        return f.Comparison(column.name, draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="])), draw(literal))
    if kind == 5:
        return f.InList(column.name, tuple(draw(st.lists(literal, min_size=1, max_size=4))))
    if kind == 6:
        return f.Between(column.name, draw(literal), draw(literal))
    if kind < 9:
        return f.Like(column.name, Literal("string", draw(patterns())))
    return f.IsNull(column.name)


def filters(columns: list[Column]) -> st.SearchStrategy[f.Filter]:
    """Returns AND, OR and NOT of conditions."""
    return st.recursive(
        predicates(columns),
        lambda inner: st.one_of(
            inner.map(f.negation),
            st.lists(inner, min_size=2, max_size=4).map(tuple).map(f.conjunction),
            st.lists(inner, min_size=2, max_size=4).map(tuple).map(f.disjunction),
        ),
        max_leaves=14,
    )


def chains(columns: list[Column]) -> st.SearchStrategy[f.Filter]:
    """Returns OR of ANDs that restrict one column after another, in the order of a key's fields."""

    @st.composite
    def chain(draw: st.DrawFn) -> f.Filter:
        parts: list[f.Filter] = []
        for column in columns:
            added = draw(st.lists(predicates([column]), max_size=2).map(tuple))
            if added:
                parts.append(f.disjunction(added))
        return f.conjunction(tuple(parts)) if parts else draw(predicates(columns))

    return st.lists(chain(), min_size=1, max_size=3).map(tuple).map(f.disjunction)
