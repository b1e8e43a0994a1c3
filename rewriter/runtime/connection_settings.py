"""The parts of a connection, and the source of each.

The parts are the warehouse, the engine with its master, the catalog's database, and settings of SET. Each part comes
from the first of these sources that has it:

1. arguments of ``rewriter.connect``, or options of the command line;
2. the URL that stands in place of the warehouse, ``rewriter:///path?engine=duckdb``;
3. a profile that an argument, an option or the URL names;
4. the environment variables ``REWRITER_WAREHOUSE``, ``REWRITER_ENGINE`` and ``REWRITER_CATALOG``;
5. the profile that ``REWRITER_PROFILE`` names, otherwise the profile ``default``.

A catalog that a source names beside a warehouse is the catalog of this warehouse. It is not used for another one, which
a source before it names. ``profiles`` finds the file ``rewriter.toml``.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rewriter.errors import Error, InterfaceError
from rewriter.exec.spark.installation import INSTALL, is_installed
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.settings import SessionSettings

if TYPE_CHECKING:
    from rewriter.catalog.filesystems.registry import Stores

ENGINES = ("spark", "duckdb")
#: What says why the engine is DuckDB though nothing names it.
_SPARK_IS_MISSING = f"Spark is not installed, so that the engine is duckdb. {INSTALL} installs it."
VARIABLES = {"warehouse": "REWRITER_WAREHOUSE", "engine": "REWRITER_ENGINE", "catalog": "REWRITER_CATALOG"}
PROFILE_VARIABLE = "REWRITER_PROFILE"
DEFAULT_PROFILE = "default"
#: The parts that a URL and a profile may name, beside settings.
PARTS = ("warehouse", "engine", "master", "catalog")
_SCHEME = "rewriter:"
#: Spark's master URLs, and the URL of a Spark Connect server.
_MASTER = re.compile(r"local(-cluster)?(\[.*\])?|yarn|(spark|k8s|sc)://.+", re.DOTALL)
_URL_FORM = "Write rewriter:///path/to/warehouse?engine=duckdb, or the path alone."


@dataclass(frozen=True)
class Source:
    """The parts that one source names. ``name`` is what errors call it. ``settings`` are texts, by full name.

    An empty ``warehouse`` is none, whatever later sources name.
    """

    name: str
    warehouse: str | None = None
    engine: str | None = None
    master: str | None = field(default=None, repr=False)
    catalog: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None


@dataclass(frozen=True)
class ConnectionSettings:
    """The parts of a connection. Without a ``warehouse``, no source names one; without a ``catalog``, it is a file in
    the warehouse. The password in a catalog's URL, and the token in a master's, are in no text of this object.
    ``filesystems`` are options of object stores, which come from the files ``rewriter.toml`` alone. ``note`` says why
    the engine is another one than usual; it is empty where a source names the engine.
    """

    warehouse: str | None
    engine: str
    master: str | None = field(default=None, repr=False)
    catalog: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    filesystems: Stores = field(default_factory=dict, repr=False)
    note: str = field(default="", repr=False)


def default_engine() -> str:
    """Returns the engine where nothing names one: ``spark``, or ``duckdb`` if Spark is not installed."""
    return "spark" if is_installed() else "duckdb"


def combine_sources(sources: Iterable[Source]) -> ConnectionSettings:
    """Returns the parts of a connection from its sources, of which the first has precedence.

    Raises ``InterfaceError`` for a value that is none of its part, and names its source.

    >>> combined([Source("a", engine="duckdb"), Source("b", "/w", "local[2]", catalog="postgresql://h/d")])
    ConnectionSettings(warehouse='/w', engine='duckdb', settings={})
    """
    warehouse, catalog, engine, master = None, None, None, None
    settings: dict[str, str] = {}
    for source in sources:
        is_other_warehouse = bool(warehouse and source.warehouse) and not _is_same(warehouse, source.warehouse)
        warehouse = source.warehouse if warehouse is None else warehouse
        if catalog is None and not is_other_warehouse:
            catalog = source.catalog
        if source.engine is not None or source.master is not None:
            own_engine, own_master = engine_of(source.engine or "spark", source.master, source.name)
            engine = own_engine if engine is None else engine
            if engine == own_engine and master is None:
                master = own_master
        settings = {**source.settings, **settings}
    note = "" if engine or is_installed() else _SPARK_IS_MISSING
    return ConnectionSettings(
        warehouse or None, engine or default_engine(), master, catalog or None, settings, note=note
    )


def _is_same(warehouse: str | None, other: str | None) -> bool:
    first, second = (os.path.realpath(os.path.expanduser(path or "")) for path in (warehouse, other))
    return first == second


def engine_of(engine: str | None, master: str | None, source: str = "") -> tuple[str, str | None]:
    """Returns the name of an engine, which a master URL may stand for, and Spark's master URL. Without an
    engine, it is the default one.

    >>> engine_of("local[2]", None), engine_of("sc://host:15002", None), engine_of("spark", "yarn")
    (('spark', 'local[2]'), ('spark', 'sc://host:15002'), ('spark', 'yarn'))
    """
    if engine is None:
        return ("spark" if master is not None else default_engine()), master
    at = f"{source}: " if source else ""
    if engine not in ENGINES:
        if _MASTER.fullmatch(engine) is None:
            raise InterfaceError(
                f"{at}There is no engine '{engine}'.",
                object=engine,
                hint="Use spark, duckdb, a master URL of Spark such as local[4], or sc://host:15002 for Spark Connect.",
            )
        if master is not None:
            raise InterfaceError(
                f"{at}The engine {engine.partition(';')[0]} is a master URL, and there is another one.",
                object="master",
                hint="Leave master out.",
            )
        return "spark", engine
    if master is not None and engine == "duckdb":
        raise InterfaceError(f"{at}Only Spark has a master URL.", object="master", hint="Leave master out.")
    return engine, master


def is_url(warehouse: str) -> bool:
    """Tests whether a text in place of a warehouse's directory is a URL."""
    return warehouse.lower().startswith(_SCHEME)


def with_url(source: Source) -> Iterator[Source]:
    """Yields a source, and after it the URL that it has in place of a warehouse, if it has one.

    Raises ``InterfaceError`` for a URL that cannot be read. No error has the values of its parameters.

    >>> [source.warehouse for source in with_url(Source("a", "rewriter:///w%20x?engine=duckdb"))]
    [None, '/w x']
    """
    if source.warehouse is None or not is_url(source.warehouse):
        yield source
        return
    url = source.warehouse[len(_SCHEME) :]
    yield replace(source, warehouse=None)
    address, _, query = url.partition("?")
    shown = f"The URL {_SCHEME}{address}"
    if address.startswith("//") and not address.startswith("///"):
        raise InterfaceError(
            f"{shown} names a host, and warehouses are directories.", object=_SCHEME + address, hint=_URL_FORM
        )
    path = unquote(address.removeprefix("//"))
    if "#" in url or not path.strip("/"):
        raise InterfaceError(
            f"{shown} {'has a fragment' if '#' in url else 'names no directory'}.",
            object=_SCHEME + address.partition("#")[0],
            hint="Write a # in a path or value as %23." if "#" in url else _URL_FORM,
        )
    values: dict[str, str] = {}
    for parameter in filter(None, query.split("&")):
        key, equals, value = parameter.partition("=")
        key = unquote(key)
        if not equals or key in values:
            problem = "is given twice" if key in values else "has no value"
            raise InterfaceError(
                f"{shown}: the parameter {key} {problem}.", object=key, hint="Write key=value, separated by &."
            )
        values[key] = unquote(value)
    if "warehouse" in values:
        raise InterfaceError(f"{shown} names a second warehouse.", object="warehouse", hint=_URL_FORM)
    parts = {key: value for key, value in values.items() if key in (*PARTS, "profile")}
    others = {key: value for key, value in values.items() if key not in parts}
    yield source_of(shown, {**parts, "warehouse": path}, others)


def source_of(name: str, parts: Mapping[str, str | None], settings: Mapping[str, object]) -> Source:
    """Returns a source of these parts; an empty one is none. Raises ``InterfaceError`` for unknown settings, and values
    that are none of theirs.
    """
    checked, texts = SessionSettings(), {}
    for key, value in settings.items():
        full_name = setting_name(key)
        texts[full_name] = setting_text(value)
        try:
            checked.set(full_name, texts[full_name])
        except Error as error:
            nearest = difflib.get_close_matches(key, PARTS, 1)
            hint = f"Did you mean {nearest[0]}?" if nearest else error.hint
            raise InterfaceError(f"{name}: {key}: {error.message}", object=key, hint=hint) from None
    warehouse, engine, master, catalog, profile = (parts.get(key) or None for key in (*PARTS, "profile"))
    return Source(name, warehouse, engine, master, catalog, texts, profile)


def from_environment(environ: Mapping[str, str]) -> Source:
    """Returns the parts that environment variables name. An empty variable is none."""
    parts = {part: environ.get(variable) for part, variable in VARIABLES.items()}
    return source_of(VARIABLES["engine"], parts, {})


def setting_name(name: str) -> str:
    """Returns the full name of a setting, which may be written without its prefix."""
    return name if "." in name else f"rewriter.{name}"


def setting_text(value: object) -> str:
    """Returns the value of a setting as SET takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
