"""The two addresses of a cluster: the root of its filesystem, and its engine."""

from __future__ import annotations

import posixpath
import re

from rewriter.uris import is_uri, normalized

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(, *[1-9]\d*)?\])?")
_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_MASTER = re.compile(rf"spark://{_HOST}:\d+(,{_HOST}:\d+)*")
_CONNECT = re.compile(rf"sc://{_HOST}(:\d+)?(/(;use_ssl=(true|false))?)?")
_ANY_PORT = re.compile(rf"(spark|sc)://{_HOST}:\*")
DUCKDB = "duckdb"
ENGINE_FORMS = "duckdb, local[4], spark://host:7077 or sc://host:15002"


def root_problem(root: str) -> str | None:
    """Returns why a text is no root of a cluster's tables; ``None`` if it is one.

    >>> root_problem("/data/c1"), root_problem("s3://bucket/prefix")
    (None, None)
    >>> root_problem("data/c1")
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
        normalized(root)
    except ValueError as error:
        return f"cannot be used: {error}"
    return None


def normal_root(root: str) -> str:
    """Returns a root without a slash at its end and double slashes, and ``s3://`` for its older spellings.

    >>> normal_root("s3a://bucket//prefix/"), normal_root("/data/c1/"), normal_root("/")
    ('s3://bucket/prefix', '/data/c1', '/')
    """
    return normalized(root) if is_uri(root) else "/" + posixpath.normpath(root).lstrip("/")


def contains(root: str, other: str) -> bool:
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
