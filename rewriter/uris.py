"""Locations in object stores as text: URIs such as ``s3://bucket/prefix``.

A path is an absolute one of the local file system, or a URI in its normal form: one spelling for one place. Keys are
taken literally, so a ``%`` in a URI is a ``%`` in the key. No function here does any I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: Schemes that name one store, by their other spellings.
_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3"}
SCHEMES = tuple(sorted(set(_SCHEMES.values())))
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
#: A URI in a text, up to a character that ends it: its user and password, which may contain slashes, and its query.
#: The user and password of the forms that hints show are no secret, nor are the options of a warehouse's URL.
_IN_TEXT = re.compile(
    r"(?<![A-Za-z])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,40})://"
    r"(?P<user>(?!user:password@)(?:[^\s'\"`<>/?]*|[^\s'\"`<>/:]*:[^\s'\"`<>]*)(?=@))?"
    r"[^\s'\"`<>?]*"
    r"(?P<query>\?[^\s'\"`<>]*)?"
)
_OWN_SCHEME = "rewriter"
#: A user with a password. A number and a slash are a port instead.
_PASSWORD = re.compile(r"[A-Za-z0-9][^/:]*:(?!\d+/).", re.DOTALL)
#: The parameters of a query that sign it, or are passwords.
_SECRET_PARAMETER = re.compile(
    r"[?&](x-amz-(signature|credential|security-token)|x-goog-(signature|credential)|awsaccesskeyid|signature|sig|"
    r"password|access_token)=",
    re.IGNORECASE,
)
#: Characters that would make a location a pattern, or a URI with further parts.
_REFUSED = re.compile(r"[*?\[\]#\\\x00-\x1f\x7f]")


def is_uri(path: str) -> bool:
    """Tests whether a path names a place in an object store. A local path is absolute.

    >>> is_uri("s3://bucket/t"), is_uri("/data/t"), is_uri("file:///data/t")
    (True, False, False)
    """
    return "://" in path and not path.startswith(("/", "file:"))


def is_in_store(path: str) -> bool:
    """Tests whether a path that a user typed names a place in an object store that is supported.

    >>> is_in_store("S3A://bucket/t"), is_in_store("hdfs://host/t"), is_in_store("file:///t")
    (True, False, False)
    """
    scheme, separator, _ = path.partition("://")
    return bool(separator) and scheme.lower() in _SCHEMES


def normalize_uri(uri: str) -> str:
    """Returns a URI in its normal form. Raises ``ValueError`` with a reason, which never repeats a password.

    >>> normalize_uri("S3A://bucket//a/b/")
    's3://bucket/a/b'
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError("it is not a URI")
    scheme = _SCHEMES.get(match[1].lower())
    if scheme is None:
        raise ValueError(f"files of {match[1].lower()}:// are not supported; those of {', '.join(SCHEMES)}:// are")
    bucket, *levels = match[2].split("/")
    if "@" in bucket or (":" in bucket and "@" in match[2]):
        # A secret may contain slashes.
        raise ValueError("a URI has no user and no password")
    if _BUCKET.fullmatch(bucket) is None:
        raise ValueError("its bucket is not named by letters, digits, dots and dashes")
    if _REFUSED.search(match[2]):
        raise ValueError("it contains one of * ? [ ] # \\, or a control character")
    if any(level in (".", "..") for level in levels):
        raise ValueError("it contains . or .. as a level")
    return "/".join([f"{scheme}://{bucket}", *filter(None, levels)])


def shown(uri: str) -> str:
    """Returns a URI for messages: without a user and password, which may contain slashes, and without its query.

    >>> shown("s3://me:sec/ret@bucket/a"), shown("s3://bucket/a?X-Amz-Signature=f00")
    ('s3://…@bucket/a', 's3://bucket/a?…')
    """
    without_user = re.sub(r"://.*@", "://…@", uri, flags=re.DOTALL)
    return re.sub(r"(://[^?]*\?).+", r"\1…", without_user, flags=re.DOTALL)


def mask_credentials(text: str, by: Callable[[str], str] = lambda secret: "…") -> str:
    """Returns a text for people and logs, such as a statement or a message: users, passwords and queries of the URIs in
    it are replaced. ``by`` gets each of them and returns what stands there instead. Linear, and quick without URIs.

    >>> mask_credentials("SELECT * FROM parquet.`s3://me:secret@bucket/a`, 'https://host/b?sig=f00'")
    "SELECT * FROM parquet.`s3://…@bucket/a`, 'https://host/b?…'"
    """
    if "://" not in text:
        return text
    return _IN_TEXT.sub(lambda match: _masked(match, by), text)


def _masked(match: re.Match[str], by: Callable[[str], str]) -> str:
    whole, start = match[0], match.start()
    user, query = match["user"], match["query"]
    if query is not None and len(query) > 1 and match["scheme"].lower() != _OWN_SCHEME:
        whole = f"{whole[: match.start('query') - start + 1]}{by(query[1:])}"
    if user:
        whole = f"{whole[: match.start('user') - start]}{by(user)}{whole[match.end('user') - start :]}"
    return whole


def has_credentials(text: str) -> bool:
    """Tests whether a text has a URI with a user and password, or with a signature, that works for those who read it.

    >>> has_credentials("s3://me:secret@bucket/a"), has_credentials("http://host:80/a@b"), has_credentials("s3://b/a@b")
    (True, False, False)
    >>> has_credentials("https://host/a?v=1&sig=f00"), has_credentials("https://host/a?page=1")
    (True, False)
    """
    return "://" in text and any(map(_is_secret, _IN_TEXT.finditer(text)))


def _is_secret(match: re.Match[str]) -> bool:
    user, query = match["user"], match["query"]
    is_user = bool(user) and (match["scheme"].lower() in _SCHEMES or _PASSWORD.match(user) is not None)
    return is_user or (query is not None and _SECRET_PARAMETER.search(query) is not None)


def bucket_and_key(uri: str) -> str:
    """Returns a URI without its scheme: bucket and key."""
    return uri.partition("://")[2]


def root_and_levels(uri: str) -> tuple[str, tuple[str, ...]]:
    """Returns the bucket as a URI, and the levels of the key.

    >>> root_and_levels("s3://bucket/a/b")
    ('s3://bucket', ('a', 'b'))
    """
    scheme, _, path = uri.partition("://")
    bucket, *levels = path.rstrip("/").split("/")
    return f"{scheme}://{bucket}", tuple(levels)


def ancestors(uri: str) -> Iterator[str]:
    """Yields the places above one, the nearest first, the bucket last.

    >>> list(ancestors("s3://bucket/a/b"))
    ['s3://bucket/a', 's3://bucket']
    """
    root, levels = root_and_levels(uri)
    for length in reversed(range(len(levels))):
        yield "/".join([root, *levels[:length]])
