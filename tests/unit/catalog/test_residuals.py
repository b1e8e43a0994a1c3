"""Filters as conditions on keys: what SQLite and PostgreSQL find is what the fields and three-valued logic say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite

from rewriter.catalog.filters.predicates import bind_filter
from rewriter.catalog.filters.residual_sql import MAX_SIZE, Residual, residual_of
from rewriter.catalog.filters.scan_plans import Scan, ScanPlan
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.changes import AddPartitions, PartitionWrite
from rewriter.catalog.model.key_ranges import successor
from rewriter.catalog.model.objects import Column
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.terms import Literal
from rewriter.grammar.unparse import render_filter

from .filter_model import truth
from .random_filters import Row, chains, filters, scans_of, tables
from .support import Warehouse

TABLE = 7
PREFIX = encoding.prefix(TABLE)

_KEYS = sa.Table("keys", sa.MetaData(), sa.Column("key", sa.LargeBinary, primary_key=True))


@dataclass
class Store:
    """A database that holds keys and nothing else."""

    engine: sa.Engine
    held: set[bytes] = field(default_factory=set)

    def hold(self, wanted: set[bytes]) -> None:
        """Keeps these keys, and no others."""
        with self.engine.begin() as connection:
            connection.execute(sa.delete(_KEYS))
            if wanted:
                connection.execute(sa.insert(_KEYS), [{"key": key} for key in sorted(wanted)])

    def matching_keys(self, scans: Sequence[Scan], residual: Residual) -> set[bytes]:
        """Returns the keys of the scans for which the condition is TRUE."""
        key = _KEYS.c.key
        query = sa.select(key).where(
            sa.or_(sa.false(), *(sa.and_(key >= scan.start, key < scan.end) for scan in scans))
        )
        if residual.condition is not None:
            query = query.where(residual.condition)
        with self.engine.connect() as connection:
            return {bytes(value) for value in connection.execute(query).scalars()}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    url = "sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    engine = sa.create_engine(url)
    _KEYS.create(engine)
    yield Store(engine)
    engine.dispose()


def widths_of(columns: Sequence[Column]) -> list[int | None]:
    return [encoding.width_of(column.type) for column in columns]


def full_scan(columns: Sequence[Column], tree: f.Filter) -> Scan:
    """Returns a scan of all keys of the table with the whole filter, of which no range decides any part."""
    plan = ScanPlan((None,) * len(columns), (bind_filter(tree, columns),))
    return Scan(PREFIX, successor(PREFIX), (plan,))


def check(store: Store, columns: list[Column], rows: Sequence[Row], tree: f.Filter) -> list[Residual]:
    """Checks that the scans' conditions, and the whole filter's, have the expected results."""
    types = {column.name: column.type for column in columns}
    by_key = {encoding.encode(TABLE, list(types.values()), row): row for row in rows}
    wanted = {
        key for key, row in by_key.items() if truth(tree, types, dict(zip(types, row, strict=True))) is True
    }  # fmt: skip
    store.hold(set(by_key))
    residuals = []
    planned = scans_of(bind_filter(tree, columns), columns, PREFIX)
    for scans in ((full_scan(columns, tree),), planned, *((scan,) for scan in planned if len(planned) > 1)):
        residual = residual_of(scans, widths_of(columns), _KEYS.c.key)
        passed = store.matching_keys(scans, residual)
        held = {
            key
            for scan in scans
            for key in by_key
            if key in scan.keys and scan.holds(encoding.split_key(widths_of(columns), key))
        }
        assert held == {key for key in wanted if any(key in scan.keys for scan in scans)}, render_filter(tree)
        assert held <= passed, render_filter(tree)
        assert passed == held or not residual.exact, render_filter(tree)
        assert held == wanted or len(scans) < len(planned)
        residuals.append(residual)
    return residuals


def _has_like(tree: f.Filter) -> bool:
    if isinstance(tree, f.Not):
        return _has_like(tree.operand)
    return any(map(_has_like, tree.operands)) if isinstance(tree, f.And | f.Or) else isinstance(tree, f.Like)


def _random(store: Store, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        columns, rows = data.draw(tables(stored=False))
        tree = data.draw(chains(columns) | filters(columns))
        for residual in check(store, columns, rows, tree):
            assert residual.exact or _has_like(tree), render_filter(tree)

    run()


@pytest.mark.share(2)
def test_random_filters(store: Store) -> None:
    _random(store, 150)


@pytest.mark.long
def test_random_filters_long(store: Store) -> None:
    _random(store, 10_000)


def _through_the_catalog(w: Warehouse, examples: int) -> None:
    """Compares all look-ups: full, by key, counted and page by page, for every access path and place of the test."""
    numbers = count()

    @settings(max_examples=examples, deadline=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        columns, rows = data.draw(tables())
        tree = data.draw(chains(columns) | filters(columns))
        table = w.create(f"t{next(numbers)}", tuple(columns))
        w.commit(lambda tx: [AddPartitions(table, tuple(map(PartitionWrite, rows)))])
        types = {column.name: column.type for column in columns}
        true = [row for row in rows if truth(tree, types, dict(zip(types, row, strict=True)))]
        wanted = sorted(encoding.encode(table.id, list(types.values()), row) for row in true)
        lookup = w.catalog.snapshot().lookup(table, bind_filter(tree, columns))
        assert list(lookup.found_keys()) == wanted, render_filter(tree)
        assert lookup.count() == len(wanted), render_filter(tree)
        assert [partition.key for partition in lookup.partitions(3)] == wanted[:3]
        assert list(lookup.found_keys(2, wanted[0] if wanted else None)) == wanted[1:3]

    run()


@pytest.mark.share(2)
def test_random_filters_through_the_catalog(w: Warehouse) -> None:
    _through_the_catalog(w, 40)


@pytest.mark.long
def test_random_filters_through_the_catalog_long(w: Warehouse) -> None:
    _through_the_catalog(w, 2_000)


TEXTS: list[Row] = [
    (text,)
    for text in (
        None, "", "a", "b", "ab", "ba", "aba", "abab", "aab", "abb", "a\x00b", "a\x01b", "a\x02b", "a\x03b",
        "\x01", "\x00\x02", "\x02", "a%b", "é", "éa", "aé", "ÿ", "a\U0001f600b", "\U0001f600", "b\U0010ffff",
    )
]  # fmt: skip

#: Patterns, and whether the database decides them.
LIKES = [
    ("a%b", True),
    ("ab%ab", True),
    ("aba%ba", True),
    ("%a", True),
    ("%b%", True),
    ("a%b%", True),
    ("%b%b", True),
    ("a%b%b", True),
    ("a%%b", True),
    ("%\\%%", True),
    ("%\U0001f600%", True),
    ("%é", True),
    ("%\x03b", True),
    ("%\x02%", False),
    ("%\x01", False),
    ("a\x00%b", False),
    ("%a%b%", False),
    ("_%", False),
    ("%_b", False),
]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize(("pattern", "exact"), LIKES)
def test_like(store: Store, pattern: str, exact: bool, negated: bool) -> None:
    columns = [Column("p", "string"), Column("q", "string")]
    rows = [(*row, second) for row in TEXTS for second in (None, "b", "ab")]
    like = f.Like("p", _text(pattern))
    for residual in check(store, columns, rows, f.Not(like) if negated else like):
        assert residual.exact is exact


def _text(text: str) -> Literal:
    return Literal("string", text)


def test_half_a_surrogate_pair_is_in_no_text(store: Store) -> None:
    tree = f.Like("p", _text("%\ud83d%"))
    check(store, [Column("p", "string")], TEXTS, tree)
    check(store, [Column("p", "string")], TEXTS, f.Not(tree))


DAYS = [Column("day", "date"), Column("hour", "int"), Column("country", "string")]


def statements(columns: list[Column], text: str) -> list[tuple[str, bool]]:
    """Returns the conditions of the scans as SQLite's SQL, and whether they are exact."""
    scans = scans_of(bind_filter(parse_filter(text), columns), columns, PREFIX)
    residuals = [residual_of([scan], widths_of(columns), sa.column("key", sa.LargeBinary)) for scan in scans]
    return [
        ("" if scan.condition is None else str(scan.condition.compile(dialect=sqlite.dialect())), scan.exact)
        for scan in residuals
    ]


def test_what_the_range_settles_is_counted_and_not_measured() -> None:
    # 9 bytes of the table, 5 of a day; where a range says that it is not NULL, or an AND does.
    assert statements(DAYS, "day = '2020-01-01'") == [("", True)]
    assert statements(DAYS, "day > '2020-01-01' and hour = 5") == [('substr("key", 15, 5) = ?', True)]
    assert statements(DAYS, "day is null and country = 'x'") == [
        ('substr("key", 16 - 4 * instr(substr("key", 11, 1), x\'00\'), 3) = ?', True)
    ]
    assert statements(DAYS, "day > '2020-01-01' and hour < 5 and country >= 'x'") == [
        ('substr("key", 15) >= ? AND substr("key", 15) < ? AND substr("key", 20) >= ?', True)
    ]
    assert statements(DAYS, "hour = 5 and day <> '2020-01-01'")[0] == ('substr("key", 15, 5) = ?', True)
    assert statements(DAYS[2:] + DAYS[:1], "day = '2020-01-01' and country in ('ab', 'xy') or country = 'a'") == [
        ("", True),
        ("", True),
        ("", True),
    ]


def test_values_are_bound() -> None:
    hostile = "x'; DROP TABLE partitions; --"
    (scan,) = scans_of(bind_filter(f.Comparison("country", "=", _text(hostile)), DAYS), DAYS, PREFIX)
    condition = residual_of([scan], widths_of(DAYS), _KEYS.c.key).condition
    assert condition is not None
    for dialect in (sqlite.dialect(), postgresql.dialect()):
        compiled = condition.compile(dialect=dialect)
        assert "DROP" not in str(compiled)
        assert list(compiled.params.values()) == [encoding.encode_value("string", hostile)]


def test_statements_are_built_once_for_each_shape(store: Store) -> None:
    """Values are no part of a shape, places are."""
    columns = [Column("a", "string"), Column("b", "int"), Column("c", "string")]
    cache: dict[Any, Any] = {}
    for text, shapes in (
        ("b = 1 and c > 'x'", 1),
        ("b = 2 and c > 'xyz'", 1),
        ("b < 1 and c > 'x'", 2),
        ("(b = 1 or b is null) and c > 'x'", 3),
        ("c like '%m'", 4),
        ("c like '%n'", 4),
    ):
        for scan in scans_of(bind_filter(parse_filter(text), columns), columns, PREFIX):
            condition = residual_of([scan], widths_of(columns), _KEYS.c.key).condition
            assert condition is not None
            with store.engine.connect().execution_options(compiled_cache=cache) as connection:
                connection.execute(sa.select(_KEYS.c.key).where(condition)).all()
        assert len(cache) == shapes, text


def test_a_long_filter_is_cut_and_stays_right(store: Store) -> None:
    columns = [Column("a", "int"), Column("b", "int")]
    rows: list[Row] = [(str(a), str(b)) for a in range(12) for b in range(12)]
    numbers = ", ".join(map(str, range(0, 2 * MAX_SIZE, 2)))
    (_, cut) = check(store, columns, rows, parse_filter(f"b in ({numbers})"))
    # What is left of it is the stretch from the first value to the last.
    assert (cut.condition is not None, cut.exact) == (True, False)
    many = " or ".join(f"b = {2 * i} and a <> {i}" for i in range(MAX_SIZE))
    assert check(store, columns, rows, parse_filter(many))[0] == Residual(None, False)
    half = check(store, columns, rows, parse_filter(f"b > 3 and ({many})"))[0]
    assert (half.condition is not None, half.exact) == (True, False)


@pytest.mark.parametrize("text", ["b not in ({})", "not ({})"])
def test_exceptions_are_listed(store: Store, text: str) -> None:
    columns = [Column("a", "string"), Column("b", "int")]
    rows: list[Row] = [(a, b) for a in (None, "x", "yy") for b in (None, "1", "2", "3", "-4", "1000")]
    listed = (
        ", ".join(map(str, range(0, 700, 2))) if "in" in text else " or ".join(f"b = {i}" for i in range(0, 700, 2))
    )
    for residual in check(store, columns, rows, parse_filter(text.format(listed))):
        assert residual.exact


def test_places_behind_many_texts_are_refused(store: Store) -> None:
    for many, exact in ((3, True), (9, False)):
        columns = [Column(f"p{i}", "string" if i % 2 else "int") for i in range(many + 1)]
        last = columns[-1].name
        rows: list[Row] = [
            (*(None if i in (gap, gap + 2) else str(i) for i in range(many)), value)
            for gap in range(many + 1)
            for value in (None, "3", "4")
        ]
        for residual in check(store, columns, rows, parse_filter(f"{last} = '3' or {last} is null")):
            assert residual.exact is exact
        # A value of each of them is a length of each of them.
        given = " and ".join(f"p{i} = '{i}'" for i in range(1, many))
        for residual in check(store, columns, rows, parse_filter(f"p0 > -5 and {given} and {last} = '3'")):
            assert residual.exact


#: The lengths of the previous field: different or equal.
ASKED = [
    "a is null or a < 5",
    "a is null or a >= 4",
    "a < 5",
    "a is not null",
    "a is null",
    "a >= 'x'",
    "a like 'x%'",
    "a = 'x'",
    "a in ('x', 'y')",
    "a in ('x', 'yy')",
    "a is null or a = 'x'",
]


def test_the_place_of_a_field_follows_from_what_is_asked_of_the_one_before(store: Store) -> None:
    for text in ASKED:
        type = "int" if any(map(str.isdigit, text)) else "string"
        columns = [Column("first", "string"), Column("a", type), Column("b", "int")]
        fields = (None, "5", "4") if type == "int" else (None, "x", "xx", "y", "yy", "z")
        rows: list[Row] = [(x, a, b) for x in (None, "k", "kk") for a in fields for b in (None, "3", "4")]
        for residual in check(store, columns, rows, parse_filter(f"({text}) and b = 3")):
            assert residual.exact
        check(store, columns, rows, parse_filter(f"({text}) and b = 3 or first = 'k' and b = 4"))


@pytest.mark.parametrize(("levels", "exact"), [(5, True), (47, False)])
def test_what_nests_deep_stays_outside(store: Store, levels: int, exact: bool) -> None:
    """As deep as filters may be, which is more than SQLite's parser takes."""
    columns = [Column("a", "string"), Column("b", "int")]
    rows: list[Row] = [(a, str(b)) for a in (None, "x", "yy") for b in range(-2, 130)]
    text = "b = 1"
    for number in range(2, levels + 2):
        text = f"not (b <> {number} and ({text}))"
    assert check(store, columns, rows, parse_filter(text))[0].exact is exact


@pytest.mark.share(2)
@pytest.mark.parametrize("type", ["int", "string"])
@pytest.mark.parametrize(("unknown", "least"), [(0, 10), (1, 8), (2, 4), (3, 1), (5, 0)])
def test_the_deepest_condition_leaves_room_for_a_statement(type: str, unknown: int, least: int) -> None:
    """Behind fields of unknown length, in an OR of an AND of a subquery."""
    engine = sa.create_engine("sqlite://")
    _KEYS.create(engine)
    columns = [*(Column(f"p{i}", type) for i in range(unknown)), Column("b", "int")]
    exact = 0
    text = "b in (1, 2) or b is null"
    for number in range(40):
        text = f"not (b <> {number} and ({text}))"
        scan = full_scan(columns, parse_filter(text))
        residual = residual_of([scan], widths_of(columns), _KEYS.c.key)
        exact = max(exact, number * residual.exact)
        condition = sa.true() if residual.condition is None else residual.condition
        for _ in range(2):
            condition = sa.or_(sa.and_(condition, _KEYS.c.key > b""), _KEYS.c.key < b"")
        inner = sa.select(_KEYS.c.key).where(sa.exists(sa.select(1).where(condition)))
        with engine.connect() as connection:
            connection.execute(inner).all()
    assert exact >= least
