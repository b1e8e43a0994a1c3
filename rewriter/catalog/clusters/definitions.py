"""Clusters as values, read from the properties of the catalog.

``hive.cluster.properties`` is JSON, a name for each cluster with its filesystem and its engine:
``{"c1": {"filesystem": "/data/c1", "engine": "duckdb"}, "c2": {"filesystem": "s3://bucket/c2", "engine": "sc://host:15002"}}``.
"""

from __future__ import annotations

import difflib
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from rewriter.catalog.model.key_ranges import KeyRange, outside
from rewriter.catalog.model.stored_paths import is_in
from rewriter.errors import AnalysisError, DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri, normalize_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table

CLUSTER_PROPERTIES = "hive.cluster.properties"
DEFAULT_CLUSTER_NAME = "hive.default.cluster.name"
USE_DEFAULT_CLUSTER = "hive.use.default.cluster"
#: The properties of the catalog, each of which a session may override.
CLUSTER_KEYS = (CLUSTER_PROPERTIES, DEFAULT_CLUSTER_NAME, USE_DEFAULT_CLUSTER)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FILESYSTEM, _ENGINE, _JOBTRACKER, _OPTIONS = "filesystem", "engine", "jobtracker", "options"
_KEYS = (_FILESYSTEM, _ENGINE, _OPTIONS)
_FORM = '{"c1": {"filesystem": "/data/c1", "engine": "duckdb"}}'


@dataclass(frozen=True)
class Cluster:
    """One cluster. ``name`` is as declared, and compared without case.

    ``root`` is the absolute directory or URI above its tables; ``None`` is the warehouse directory. ``engine`` is
    ``duckdb``, ``local[n]``, ``spark://…`` or ``sc://…``; ``None`` is the session's own engine. ``options`` are
    settings of the engine.
    """

    name: str
    root: str | None = None
    engine: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class Placed(Protocol):
    """An object with a primary cluster; ``None`` is the default one."""

    @property
    def cluster(self) -> str | None: ...


@dataclass(frozen=True)
class Clusters:
    """The clusters that a statement sees. ``by_name`` has keys in lower case, in the order of the definition.

    ``default`` is the name of the default cluster as declared: the first one, if no property names it. ``use_default``
    says that it is tried first.
    """

    by_name: Mapping[str, Cluster] = field(default_factory=dict, hash=False)
    default: str | None = None
    use_default: bool = False

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def named(self, name: str) -> Cluster:
        """Returns the cluster of that name, in any case. Raises ``AnalysisError`` CLUSTER_NOT_FOUND without one."""
        cluster = self.by_name.get(name.lower())
        if cluster is None:
            raise AnalysisError(
                f"The cluster '{name}' cannot be found.",
                condition="CLUSTER_NOT_FOUND",
                sqlstate="42704",
                object=name,
                hint=self._nearest(name),
            )
        return cluster

    def primary_of(self, table: Placed) -> str | None:
        """Returns the name of a table's primary cluster: its own one, otherwise the default one."""
        return table.cluster or self.default

    def is_primary(self, table: Placed, name: str) -> bool:
        """Tests whether a cluster, named in any case, has all data of a table, and is where it is written."""
        return (self.primary_of(table) or "").lower() == name.lower()

    def _nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower(), self.by_name, n=1)
        if near:
            return f"Did you mean {self.by_name[near[0]].name}?"
        return "SHOW CLUSTERS lists all." if self else f"There are no clusters: {CLUSTER_PROPERTIES} defines them."


#: What a statement sees without any definition.
NO_CLUSTERS = Clusters(MappingProxyType({}))


def clusters_of(properties: Mapping[str, str]) -> Clusters:
    """Returns the clusters that properties define; properties of other names are ignored. A pure function.

    Raises ``DataError`` INVALID_CLUSTER_PROPERTIES for values that cannot be used, with the place and the reason.

    >>> clusters_of({"hive.cluster.properties": '{"C1": {"filesystem": "/data/c1"}}'}).named("c1").root
    '/data/c1'
    """
    by_name = _definitions(properties[CLUSTER_PROPERTIES]) if CLUSTER_PROPERTIES in properties else {}
    use_default = properties.get(USE_DEFAULT_CLUSTER, "false").strip().lower()
    if use_default not in ("true", "false"):
        raise _invalid(USE_DEFAULT_CLUSTER, f"'{use_default}' is neither true nor false")
    default = properties.get(DEFAULT_CLUSTER_NAME)
    if default is not None:
        default = _default_name(default.strip(), by_name)
    elif by_name:
        default = next(iter(by_name.values())).name
    if not by_name and default is None:
        return NO_CLUSTERS
    return Clusters(MappingProxyType(by_name), default, use_default == "true")


def _default_name(name: str, by_name: Mapping[str, Cluster]) -> str:
    _check_name(DEFAULT_CLUSTER_NAME, name)
    if not by_name:
        return name
    if name.lower() not in by_name:
        raise _invalid(DEFAULT_CLUSTER_NAME, f"the cluster '{name}' is not defined", _near(name, by_name))
    return by_name[name.lower()].name


def _definitions(text: str) -> dict[str, Cluster]:
    """Returns the clusters of a JSON text, by their names in lower case."""
    where = CLUSTER_PROPERTIES
    try:
        entries = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _invalid(where, f"this is no JSON: {error.msg} ({place})", f"Write {_FORM}.") from None
    except (ValueError, RecursionError):
        raise _invalid(where, "this is no JSON that can be read", f"Write {_FORM}.") from None
    by_name: dict[str, Cluster] = {}
    for name, entry in _object(where, entries):
        _check_name(where, name)
        if name.lower() in by_name:
            raise _invalid(where, f"the cluster '{name}' is defined twice (names are compared without case)")
        by_name[name.lower()] = _cluster(name, entry)
    _check_roots(list(by_name.values()))
    return by_name


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that duplicate keys are seen."""


def _object(where: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, _Pairs):
        raise _invalid(where, f"{_shown(value)} is no JSON object", f"Write {_FORM}.")
    return iter(value)


def _cluster(name: str, entry: object) -> Cluster:
    where = f"{CLUSTER_PROPERTIES}: cluster {name}"
    values: dict[str, Any] = {}
    for key, value in _object(where, entry):
        field_ = _ENGINE if key == _JOBTRACKER else key
        if field_ not in _KEYS:
            raise _invalid(where, f"the key '{_short(key)}' is unknown", _near(key, (*_KEYS, _JOBTRACKER)))
        if field_ in values:
            other = f" ({_JOBTRACKER} is another word for {_ENGINE})" if field_ == _ENGINE else ""
            raise _invalid(where, f"{field_} is given twice{other}")
        values[field_] = value
    engine = _engine(where, values.get(_ENGINE))
    options = _options(where, values.get(_OPTIONS, _Pairs()))
    if options and engine == DUCKDB:
        raise _invalid(where, "DuckDB has no options", "Leave options out: they are settings of Spark.")
    return Cluster(name, _root(where, values.get(_FILESYSTEM)), engine, MappingProxyType(options))


def _root(where: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _invalid(where, f"{_FILESYSTEM} is {_shown(value)}, and must be a text")
    problem = _root_problem(value)
    if problem is not None:
        raise _invalid(where, f"{_FILESYSTEM} {problem}")
    return _normal_root(value)


def _engine(where: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and is_engine(value)):
        return value
    # The address may hold a token, so the error does not show it.
    credentials = " Credentials are never stored in the catalog." if isinstance(value, str) and "://" in value else ""
    raise _invalid(where, f"{_ENGINE} is no address of an engine", f"Write {ENGINE_FORMS}.{credentials}")


def _options(where: str, value: object) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, option in _object(f"{where}: {_OPTIONS}", value):
        if not isinstance(option, str | int):
            raise _invalid(
                where, f"the option {_short(name)} is {_shown(option)}, and must be a text or a whole number"
            )
        text = str(option).lower() if isinstance(option, bool) else str(option)
        problem = option_problem(name, text)
        if problem is not None:
            hint = "Each user sets such options in the own configuration."
            raise _invalid(where, f"the option {_short(name)} is not allowed: {problem}", hint)
        if name.lower() in {other.lower() for other in options}:
            raise _invalid(where, f"the option {_short(name)} is given twice")
        options[name] = text
    return options


def _check_roots(clusters: list[Cluster]) -> None:
    for index, one in enumerate(clusters):
        for other in clusters[index + 1 :]:
            if one.root is None or other.root is None:
                if one.root is other.root:
                    raise _invalid(
                        CLUSTER_PROPERTIES,
                        f"the clusters {one.name} and {other.name} have no {_FILESYSTEM}, so that both would be in the "
                        "warehouse directory",
                        f"Give one of them a {_FILESYSTEM}.",
                    )
            elif _contains(one.root, other.root) or _contains(other.root, one.root):
                relation = "equal" if one.root == other.root else "inside one another"
                raise _invalid(CLUSTER_PROPERTIES, f"the filesystems of {one.name} and {other.name} are {relation}")


def _check_name(where: str, name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise _invalid(where, f"'{_short(name)}' is no name of a cluster", "Use letters, digits, _ and -.")


def _near(name: str, names: Iterable[str]) -> str:
    listed = list(names)
    near = difflib.get_close_matches(name.lower(), listed, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known are {', '.join(listed)}."


def _shown(value: object) -> str:
    if isinstance(value, _Pairs):
        return "an object"
    return _short(json.dumps(value, default=str))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _invalid(where: str, problem: str, hint: str | None = None) -> DataError:
    return DataError(
        f"{where}: {problem}.", condition="INVALID_CLUSTER_PROPERTIES", sqlstate="22023", object=where, hint=hint
    )


# The two addresses of a cluster: the root of its filesystem, and its engine.

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(, *[1-9]\d*)?\])?")
_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_MASTER = re.compile(rf"spark://{_HOST}:\d+(,{_HOST}:\d+)*")
_CONNECT = re.compile(rf"sc://{_HOST}(:\d+)?(/(;use_ssl=(true|false))?)?")
_ANY_PORT = re.compile(rf"(spark|sc)://{_HOST}:\*")
DUCKDB = "duckdb"
ENGINE_FORMS = "duckdb, local[4], spark://host:7077 or sc://host:15002"


def _root_problem(root: str) -> str | None:
    """Returns why a text is no root of a cluster's tables; ``None`` if it is one.

    >>> _root_problem("/data/c1"), _root_problem("s3://bucket/prefix")
    (None, None)
    >>> _root_problem("data/c1")
    'is relative: write an absolute directory, or a URI such as s3://bucket/prefix'
    """
    uri = _URI.fullmatch(root)
    path = uri[3] if uri else root
    if not uri and not root.startswith("/"):
        return "is relative: write an absolute directory, or a URI such as s3://bucket/prefix"
    if any(not character.isprintable() for character in root):
        return "has a character that cannot be printed"
    if ".." in path.split("/") or "." in path.split("/"):
        return "has a step . or .. in it: write the directory itself"
    if uri is None:
        return None
    try:
        normalize_uri(root)
    except ValueError as error:
        return f"cannot be used: {error}"
    return None


def _normal_root(root: str) -> str:
    """Returns a root without a slash at its end and double slashes, and ``s3://`` for its older spellings.

    >>> _normal_root("s3a://bucket//prefix/"), _normal_root("/data/c1/"), _normal_root("/")
    ('s3://bucket/prefix', '/data/c1', '/')
    """
    return normalize_uri(root) if is_uri(root) else "/" + posixpath.normpath(root).lstrip("/")


def _contains(root: str, other: str) -> bool:
    """Tests whether one normal root is another one, or above it."""
    return other == root or other.startswith(root.rstrip("/") + "/")


def is_engine(address: str) -> bool:
    """Tests whether a text is the address of an engine. An address of Spark Connect has no parameter but ``use_ssl``:
    the others hold credentials, and names of users.

    >>> [is_engine(address) for address in ("duckdb", "local[*]", "spark://h:7077", "sc://h:15002", "sc://h/;token=x")]
    [True, True, True, True, False]
    """
    return address == DUCKDB or any(form.fullmatch(address) for form in (_LOCAL, _MASTER, _CONNECT))


def is_any_port(address: str) -> bool:
    """Tests whether a text stands for all ports of a host: ``sc://host:*``."""
    return _ANY_PORT.fullmatch(address) is not None


# The options of an engine that a cluster's definition may have.
#
# Any user of the catalog may write a definition. It must not run code on the machine of a reader, nor send the
# reader's credentials to another address, nor change results. So only settings of resources may be in it, and of
# these a reader's configuration allows some by name (``runtime.cluster_engines``).

_RESOURCES = re.compile(
    r"spark\.("
    r"(driver|executor)\.(memory|memoryoverhead|memoryoverheadfactor|cores)|driver\.maxresultsize|executor\.instances|"
    r"cores\.max|default\.parallelism|task\.(cpus|maxfailures)|memory\.(fraction|storagefraction|offheap\.(enabled|size))|"
    r"dynamicallocation\.[a-z.]+|speculation(\.[a-z.]+)?|locality\.wait(\.[a-z]+)?|network\.timeout|"
    r"scheduler\.(mode|pool|minregisteredresourcesratio|maxregisteredresourceswaitingtime)|reducer\.maxsizeinflight|"
    r"sql\.(shuffle\.partitions|adaptive\.(?!custom)[a-z.]+|autobroadcastjointhreshold|broadcasttimeout|"
    r"files\.(maxpartitionbytes|maxpartitionnum|minpartitionnum|opencostinbytes))"
    r")"
)
_VALUE = re.compile(r"[A-Za-z0-9._*+-]{1,100}")
_CREDENTIALS = re.compile(r"spark\.hadoop\..*|.*(secret|password|token|credential|key|keytab|principal|authenticate).*")
_CODE = re.compile(
    r".*(jar|package|plugin|class|java|listener|extension|python|script|serializer|env\b).*|"
    r"spark\.sql\.catalog.*|spark\.(submit|files|archives)\b.*"
)


def option_problem(name: str, value: str) -> str | None:
    """Returns why a definition may not have an option; ``None`` if it may.

    >>> option_problem("spark.executor.memory", "2g") is None
    True
    >>> option_problem("spark.hadoop.fs.s3a.secret.key", "x")
    'credentials and settings of filesystems are never stored in the catalog'
    >>> option_problem("spark.driver.extraJavaOptions", "x")
    'it can run code on the machine of a reader'
    """
    lowered = name.lower()
    if _RESOURCES.fullmatch(lowered):
        return None if _VALUE.fullmatch(value) else "its value has characters other than letters, digits and . _ - + *"
    if _CREDENTIALS.fullmatch(lowered):
        return "credentials and settings of filesystems are never stored in the catalog"
    if _CODE.fullmatch(lowered):
        return "it can run code on the machine of a reader"
    return "it is no setting of resources, such as spark.executor.memory"


# Tables and partitions as a client on one cluster finds them.

#: The digits of the identity of a warehouse in the names of directories.
_IDENTITY_DIGITS = 12


def cluster_root(cluster: Cluster, warehouse: str, identity: str) -> str:
    """Returns the directory above the managed tables of a cluster: the warehouse, or a directory below the root of the
    cluster that bears the identity of the warehouse. So several warehouses may share a root.

    >>> cluster_root(Cluster("c", "s3://bucket/c"), "/w", "0123456789abcdef")
    's3://bucket/c/0123456789ab'
    """
    if cluster.root is None or cluster.root.rstrip("/") == warehouse:
        return warehouse
    return f"{cluster.root.rstrip('/')}/{identity[:_IDENTITY_DIGITS]}"


def is_owned(path: str, warehouse: str, identity: str) -> bool:
    """Tests whether a path is in a warehouse, or in a directory of a cluster that bears its identity.

    >>> [is_owned(path, "/w", "0123456789abcdef") for path in ("s3://bucket/c/0123456789ab/t-1", "/data/t")]
    [True, False]
    """
    return is_in(path, warehouse) or identity[:_IDENTITY_DIGITS] in path.split("/")


def located_table(table: Table, cluster: Cluster, clusters: Clusters) -> Table:
    """Returns a table with its location on a cluster. Raises ``AnalysisError`` TABLE_NOT_IN_CLUSTER for a cluster that
    does not have it.
    """
    if clusters.is_primary(table, cluster.name):
        return table
    copy = table.copy_on(cluster.name)
    if copy is None:
        raise not_on(table, cluster, clusters)
    return replace(table, location=copy.location)


def located_by_default(table: Table, clusters: Clusters) -> Table:
    """Returns a table with its location on the default cluster; as it is if that cluster does not have it."""
    copy = table.copy_on(clusters.default or "")
    return table if copy is None else replace(table, location=copy.location)


def located_partitions(
    partitions: Sequence[Partition], table: Table, held: Sequence[KeyRange] | None
) -> list[Partition]:
    """Returns the given partitions that a cluster has, in key order. ``held`` are its copies; ``None`` on the primary
    cluster, which has all. A copy has no location of its own.
    """
    if held is None:
        return list(partitions)
    absent = set(outside([partition.key for partition in partitions], held))
    return [partition._replace(location=None) for partition in partitions if partition.key not in absent]


def not_on(table: Table, cluster: Cluster, clusters: Clusters) -> AnalysisError:
    """Returns the error for a cluster that is none of a table's, or not the primary one."""
    primary = clusters.primary_of(table)
    where = "no cluster" if primary is None else f"the cluster {primary}"
    return AnalysisError(
        f"the table '{table.name}' is not on the cluster {cluster.name}: it is on {where}",
        condition="TABLE_NOT_IN_CLUSTER",
        object=table.name,
        hint="Name another cluster, or none.",
    )


# The properties of a catalog: their names, and the check of all together.


def _property_key(name: str) -> str:
    """Returns the name of a property as the catalog stores it. Names are compared without case.

    Raises ``AnalysisError`` UNKNOWN_CATALOG_PROPERTY for other names.
    """
    key = name.strip().lower()
    if key in CLUSTER_KEYS:
        return key
    near = difflib.get_close_matches(key, CLUSTER_KEYS, n=1, cutoff=0.4)
    raise AnalysisError(
        f"A catalog has no property {name}.",
        condition="UNKNOWN_CATALOG_PROPERTY",
        object=name,
        hint=f"Did you mean {near[0]}?" if near else f"The properties are {', '.join(CLUSTER_KEYS)}.",
    )


def changed_properties(properties: Mapping[str, str], name: str, value: str | None) -> dict[str, str]:
    """Returns the properties with one more value, or without it if ``value`` is ``None``, by name.

    Raises UNKNOWN_CATALOG_PROPERTY, and ``DataError`` INVALID_CLUSTER_PROPERTIES if they do not fit together.
    """
    key = _property_key(name)
    changed = {other: text for other, text in properties.items() if other != key}
    if value is not None:
        changed[key] = value
    clusters_of(changed)
    return dict(sorted(changed.items()))
