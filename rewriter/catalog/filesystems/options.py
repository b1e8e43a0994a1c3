"""The options of object stores, from the reader's own configuration: ``rewriter.toml``, or an argument.

::

    [filesystems."s3://bucket"]         # or "s3://", for all buckets
    endpoint = "https://minio.example:9000"
    region = "eu-central-1"
    access_key_env = "MINIO_KEY"        # names of environment variables, never the keys
    secret_key_env = "MINIO_SECRET"

What is left out comes from the environment variables and files that all programs for S3 read: AWS_ENDPOINT_URL,
AWS_REGION, AWS_ACCESS_KEY_ID, AWS_PROFILE and so on.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import fields

from rewriter.errors import InterfaceError
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import SCHEMES, normalize_uri, shown

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Variables of the environment on which a connection depends.
_OF_AWS = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


@dataclass(frozen=True)
class StoreOptions:
    """How a store is reached. ``*_env`` are the names of environment variables that hold a credential."""

    endpoint: str | None = None
    region: str | None = None
    allow_http: bool = False
    anonymous: bool = False
    access_key_env: str | None = None
    secret_key_env: str | None = None
    session_token_env: str | None = None

    def environment(self) -> tuple[str | None, ...]:
        """Returns the values of the variables on which a connection depends."""
        own = (self.access_key_env, self.secret_key_env, self.session_token_env)
        return tuple(os.environ.get(name) for name in (*_OF_AWS, *filter(None, own)))


_NAMES = tuple(field.name for field in fields(StoreOptions))


def store_options(tables: Mapping[str, object], source: str) -> dict[str, StoreOptions]:
    """Returns the options by the place that they are for: a bucket, ``s3://bucket``, or a scheme, ``s3://``.

    Raises ``InterfaceError`` for a place or an option that is none, and for values that are none of their option; with
    the name of the ``source``, and without the value.
    """
    options: dict[str, StoreOptions] = {}
    for place, table in tables.items():
        key = _place(place, source)
        if not isinstance(table, Mapping):
            raise _wrong(source, place, "it is no table", f'Write [filesystems."{shown(place)}"].')
        if key in options:
            raise _wrong(source, place, "it is given twice", "Write each place once.")
        options[key] = _options(table, f'{source}: filesystems."{shown(place)}"')
    return options


def _place(place: str, source: str) -> str:
    if place in [f"{scheme}://" for scheme in SCHEMES]:
        return place
    try:
        key = normalize_uri(place)
    except ValueError as error:
        raise _wrong(source, place, str(error), "Write s3://bucket, or s3:// for all buckets.") from None
    if key.count("/") > 2:
        raise _wrong(source, place, "options are those of a bucket", "Write s3://bucket.")
    return key


def _options(table: Mapping[str, object], source: str) -> StoreOptions:
    values: dict[str, object] = {}
    for name, value in table.items():
        if name not in _NAMES:
            nearest = difflib.get_close_matches(name, _NAMES, 1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"The options are {', '.join(_NAMES)}."
            raise InterfaceError(f"{source} has the unknown option {name}.", object=name, hint=hint)
        is_flag = name in ("allow_http", "anonymous")
        if not isinstance(value, bool if is_flag else str) or value == "":
            expected = "true or false" if is_flag else "a text"
            raise InterfaceError(f"{source}: {name} is not {expected}.", object=name, hint=f"Write {expected}.")
        if name.endswith("_env") and _VARIABLE.fullmatch(str(value)) is None:
            raise InterfaceError(
                f"{source}: {name} is not the name of an environment variable.",
                object=name,
                hint="Put the credential into an environment variable, and write the name of the variable.",
            )
        values[name] = value
    options = StoreOptions(**values)  # type: ignore[arg-type]
    endpoint = (options.endpoint or "").lower()
    if "@" in endpoint:
        raise InterfaceError(f"{source}: endpoint has a user or password.", object="endpoint", hint="Leave it out.")
    if endpoint.startswith("http://") and not options.allow_http:
        raise InterfaceError(
            f"{source}: endpoint is not encrypted.", object="endpoint", hint="Use https://, or add allow_http = true."
        )
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise InterfaceError(
            f"{source}: endpoint is not an address.",
            object="endpoint",
            hint="Write https://host, or https://host:port.",
        )
    if (options.access_key_env is None) != (options.secret_key_env is None):
        raise InterfaceError(
            f"{source} has only one of access_key_env and secret_key_env.", object="access_key_env", hint="Write both."
        )
    if options.anonymous and options.access_key_env is not None:
        raise InterfaceError(f"{source} is anonymous, and has keys.", object="anonymous", hint="Leave one of them out.")
    return options


def _wrong(source: str, place: str, reason: str, hint: str) -> InterfaceError:
    return InterfaceError(f'{source}: filesystems."{shown(place)}": {reason}.', object=shown(place), hint=hint)
