"""Reads the Thrift interface of the metastore: its structures as classes, and its methods.

``metastore.thrift`` is the interface. Thrift's library encodes and decodes the classes in C: each has a
``thrift_spec``, and the attribute of a field that was not sent is ``None``. The file is read once, in 50 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from rewriter.lazy_dataclass import dataclass

_TOKEN = re.compile(r"//[^\n]*|\s+|(\w+|[^\w\s])")
_PRIMITIVES: Mapping[str, tuple[int, Any]] = {
    "bool": (TType.BOOL, None),
    "byte": (TType.BYTE, None),
    "i16": (TType.I16, None),
    "i32": (TType.I32, None),
    "i64": (TType.I64, None),
    "double": (TType.DOUBLE, None),
    "string": (TType.STRING, "UTF8"),
    "binary": (TType.STRING, "BINARY"),
}
#: The number, type, name, details of the type, and default of a field, as Thrift's library takes them.
Field = tuple[int, int, str, Any, None]


class Structure(TBase):  # type: ignore[misc]
    """A value of the interface. Fields are given by name. Fields that are left out are ``None``."""

    thrift_spec: tuple[Field | None, ...] = ()
    fields: frozenset[str] = frozenset()

    def __init__(self, **values: Any) -> None:
        if not values.keys() <= self.fields:
            raise TypeError(f"{type(self).__name__} has no {sorted(values.keys() - self.fields)}")
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        """Compares the fields that are set."""
        return type(self) is type(other) and _set_fields(self) == _set_fields(other)

    __hash__ = None  # type: ignore[assignment]


class ErrorStructure(Structure, Exception):
    """An exception that a method declares. ``message`` is the text that the client shows."""

    message: str | None = None

    def __str__(self) -> str:
        return self.message or ""


@dataclass(frozen=True)
class Method:
    """A method: the structure of its arguments, the structure of its result, and the exceptions that it declares, by
    field.
    """

    name: str
    arguments: type[Structure]
    result: type[Structure]
    returns: bool
    errors: Mapping[str, type[ErrorStructure]]
    oneway: bool = False


@dataclass(frozen=True)
class Interface:
    """All structures and methods, by name."""

    structures: Mapping[str, type[Structure]]
    methods: Mapping[str, Method]


@cache
def interface() -> Interface:
    """Returns the interface of the metastore."""
    text = files(__package__).joinpath("metastore.thrift").read_text(encoding="utf-8")
    return _Reader(text).interface()


def structure(name: str) -> Any:
    """Returns the class of a structure of the interface."""
    return interface().structures[name]


def reading_less(class_: type[Structure], field: str, inner: type[Structure] | None = None) -> type[Structure]:
    """Returns a structure that skips a field as it is decoded, or reads it as ``inner``.

    A field of structures, or of a list of structures, is read as ``inner``. What is skipped is neither decoded nor
    kept, which saves most of the time for structures that repeat one another.
    """
    fields: list[Field] = []
    for one in class_.thrift_spec:
        if one is None or (one[2] == field and inner is None):
            continue
        if one[2] == field and inner is not None:
            struct = [inner, inner.thrift_spec]
            details = (TType.STRUCT, struct, False) if one[1] == TType.LIST else struct
            one = (*one[:3], details, None)
        fields.append(one)
    return _class_of(class_.__name__, class_, fields)


def _set_fields(value: Structure) -> dict[str, Any]:
    return {name: field for name, field in value.__dict__.items() if field is not None}


class _Reader:
    """Reads the text of an interface whose structures come before their uses."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._token = next(self._tokens)
        self._structures: dict[str, type[Structure]] = {}
        self._methods: dict[str, Method] = {}

    def interface(self) -> Interface:
        while self._token:
            kind, name = self._take(), self._take()
            if kind == "service":
                self._read_service()
            else:
                base = ErrorStructure if kind == "exception" else Structure
                self._expect("{")
                self._structures[name] = _class_of(name, base, self._fields("}"))
        return Interface(self._structures, self._methods)

    def _read_service(self) -> None:
        if self._token == "extends":
            self._take(), self._take()
        self._expect("{")
        while not self._skip("}"):
            oneway = self._skip("oneway")
            returned = None if self._skip("void") else self._type()
            name = self._take()
            self._expect("(")
            arguments = _class_of(f"{name}_args", Structure, self._fields(")"))
            thrown: list[Field] = []
            if self._skip("throws"):
                self._expect("(")
                thrown = self._fields(")")
            success = [] if returned is None else [(0, returned[0], "success", returned[1], None)]
            result = _class_of(f"{name}_result", Structure, success + thrown)
            errors = {field[2]: field[3][0] for field in thrown}
            self._methods[name] = Method(name, arguments, result, returned is not None, errors, oneway)

    def _fields(self, end: str) -> list[Field]:
        """Reads fields up to the closing token."""
        fields: list[Field] = []
        while not self._skip(end):
            number = int(self._take())
            self._expect(":")
            self._skip("optional")
            type_, details = self._type()
            fields.append((number, type_, self._take(), details, None))
            self._skip(",")
        return fields

    def _type(self, is_key: bool = False) -> tuple[int, Any]:
        """Reads a type. Lists that are keys of maps are decoded as tuples."""
        name = self._take()
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        if name not in ("list", "set", "map"):
            class_ = self._structures[name]
            return TType.STRUCT, [class_, class_.thrift_spec]
        self._expect("<")
        if name == "map":
            key = self._type(is_key=True)
            self._expect(",")
            details: tuple[Any, ...] = (*key, *self._type(), False)
        else:
            details = (*self._type(), is_key)
        self._expect(">")
        return {"list": TType.LIST, "set": TType.SET, "map": TType.MAP}[name], details

    def _take(self) -> str:
        token, self._token = self._token, next(self._tokens)
        return token

    def _skip(self, token: str) -> bool:
        if self._token != token:
            return False
        self._take()
        return True

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            raise ValueError(f"metastore.thrift has {self._token!r} in place of {token!r}")


def _tokens(text: str) -> Iterator[str]:
    """Returns the tokens, and empty ones after the end."""
    yield from (match[1] for match in _TOKEN.finditer(text) if match[1])
    while True:
        yield ""


def _class_of(name: str, base: type[Structure], fields: list[Field]) -> type[Structure]:
    spec: list[Field | None] = [None] * (1 + max((field[0] for field in fields), default=-1))
    for field in fields:
        spec[field[0]] = field
    names = [field[2] for field in fields]
    members = dict.fromkeys(names) | {"thrift_spec": tuple(spec), "fields": frozenset(names)}
    return cast("type[Structure]", type(name, (base,), members))
