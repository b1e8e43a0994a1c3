"""A world of names for the tables of completion, and the function that completes a text at its ``|``."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.model.objects import Aggregate, Column, Cube, Fact, Measure, Table, View
from rewriter.shell.completion.candidates import Candidate, ValuesRequest, complete
from rewriter.shell.completion.names import CommandName, Names, ObjectNames, Setting, SortedNames


def table(name: str, columns: str, partition: str = "") -> Table:
    """Returns a table with columns such as ``a:int b-c:string``; ``int`` may be left out."""

    def made(text: str) -> tuple[Column, ...]:
        parts = (column.partition(":") for column in text.split())
        return tuple(Column(name, type_ or "int") for name, _, type_ in parts)

    return Table(sum(map(ord, name)), name, made(columns), made(partition), "parquet", f"/{name}")


VIEWS = Cube(
    3,
    "views",
    (Column("country", "string"), Column("page", "string")),
    (Measure("hits", "bigint", Aggregate.SUM),),
    ("at",),
    ("at", "country", "page", "hits"),
)
OBJECTS = ObjectNames.of(
    ["default", "sales", "odd-db", "information_schema"],
    [
        table("orders", "id:bigint amount:double status:string", "dt:string hr:int"),
        table("customers", "id:bigint name:string a-b:string order:int", "country:string"),
        table("clicks", "url:string", "day:date at:timestamp ok:boolean size:decimal(10,2)"),
        table("sales.orders_2024", "id:bigint total:double", "month:int"),
        table("sales.select", "x"),
        table("odd-db.a`b", "x`y"),
        View(2, "daily", "SELECT dt, SUM(amount) AS total FROM orders GROUP BY dt"),
        View(4, "everything", "SELECT o.*, name FROM orders o JOIN customers c ON o.id = c.id"),
        View(5, "renamed", "SELECT 1, 2", (("one", None), ("two", None))),
        VIEWS,
        Fact(6, "page_views", "views", ()),
        Fact(7, "sales.sold", "views", ()),
    ],
)
NAMES = Names(
    OBJECTS,
    temporary=ObjectNames.of((), [table("scratch@" + "0" * 32, "z")]),
    functions=SortedNames(["sum", "avg", "count", "substr", "current_date", "upper"]),
    clusters=SortedNames(["c1", "west-1"]),
    settings=(
        Setting("rewriter.partial_data", "false", "compute from existing partitions", ("true", "false")),
        Setting("rewriter.sink", "auto", "the sink", ("auto", "grouped", "sorted")),
        Setting("rewriter.now", "", "fixes the current time"),
        Setting("spark.sql.shuffle.partitions", "200", "accepted"),
    ),
    commands=(
        CommandName("\\d", "describe", "object"),
        CommandName("\\dt", "list tables", "table"),
        CommandName("\\dp", "list partitions", "table"),
        CommandName("\\coverage", "draw a fact", "fact"),
        CommandName("\\c", "use", "database"),
        CommandName("\\i", "run a file", "file"),
        CommandName("\\format", "set the format", "format"),
        CommandName(".mode", "set the format", "format"),
        CommandName("\\timing", "time"),
    ),
    words={"format": ("table", "csv", "json")},
)
VALUES = {
    "dt": ("2024-01-01", "2024-01-02", "2023-12-31"),
    "hr": ("0", "1", "10", "23"),
    "country": ("CH", "it's", 'a"b', "back\\slash", "new\nline", "\x1b[31mred", "x; DROP TABLE t", "🎈"),
    "day": ("2024-02-29",),
    "at": ("2024-02-29 01:02:03",),
    "ok": ("true", "false"),
    "size": ("-1.50", "2.00"),
    "month": ("1", "12"),
}


def values(request: ValuesRequest) -> Sequence[str]:
    """Reads the values of the world; of ``hr`` only one hour where the text gives a day."""
    found = VALUES.get(request.column.lower(), ())
    if request.column == "hr" and ("dt", "2024-01-01") in request.given:
        found = ("7",)
    return [value for value in found if value.lower().startswith(request.typed.lower())]


def completed(marked: str, names: Names = NAMES) -> list[Candidate]:
    """Returns the candidates at the last ``|`` of a text."""
    cursor = marked.rindex("|")
    return complete(marked[:cursor] + marked[cursor + 1 :], cursor, names, values)


def texts(marked: str) -> list[str]:
    return [candidate.text for candidate in completed(marked)]


def inserted(marked: str, candidate: Candidate) -> str:
    """Returns the text after the candidate was chosen."""
    cursor = marked.rindex("|")
    return marked[: cursor + candidate.start_offset] + candidate.text + marked[cursor + 1 :]
