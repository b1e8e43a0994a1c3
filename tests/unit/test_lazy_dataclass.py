"""Classes of ``lazy_dataclass`` behave like those of ``dataclasses``, whatever is done with them first."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from dataclasses import dataclass as plain_dataclass
from threading import Barrier, Thread
from typing import Any

import pytest

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.lazy_dataclass import dataclass


def classes(decorate: Any) -> tuple[type, type, type]:
    """Returns a frozen class, one that is derived from it, and one whose objects can change."""

    @decorate(frozen=True)
    class Base:
        name: str
        width: int = 1
        span: int = field(default=0, compare=False, repr=False)

    @decorate(frozen=True, kw_only=True)
    class Derived(Base):
        """Has a parameter that is passed by name, though the parameters before it have defaults."""

        parts: tuple[Any, ...]
        options: dict[str, Any] = field(default_factory=dict, hash=False)

        def __str__(self) -> str:
            return f"{self.name}: {self.parts}"

    @decorate
    class Changing:
        items: list[int] = field(default_factory=list)
        total: int = field(init=False)

        def __post_init__(self) -> None:
            self.total = sum(self.items)

    return Base, Derived, Changing


@pytest.fixture(params=[dataclass, plain_dataclass], ids=["lazy", "plain"])
def defined(request: pytest.FixtureRequest) -> tuple[type, type, type]:
    return classes(request.param)


def test_objects(defined: tuple[type, type, type]) -> None:
    base, derived, changing = defined
    value = derived("a", 2, parts=(1,))
    assert repr(value) == "classes.<locals>.Derived(name='a', width=2, parts=(1,), options={})"
    assert str(value) == "a: (1,)"
    assert value == derived("a", 2, 7, parts=(1,)) != derived("a", 3, parts=(1,))
    assert hash(value) == hash(derived("a", 2, 7, parts=(1,), options={"x": 1}))
    assert base("a", 2) != value
    assert base("a") == base(name="a", width=1)
    assert replace(value, width=5).width == 5
    assert copy.copy(value) == copy.deepcopy(value) == value
    assert changing([1, 2]).total == 3
    assert changing().items is not changing().items
    with pytest.raises(FrozenInstanceError):
        value.name = "b"
    with pytest.raises(FrozenInstanceError):
        del base("a").name
    with pytest.raises(TypeError, match="parts"):
        derived("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing())
    match value:
        case base(name, width):
            assert (name, width) == ("a", 2)


def test_classes_without_objects(defined: tuple[type, type, type]) -> None:
    base, derived, changing = defined
    assert is_dataclass(derived)
    assert is_dataclass(changing)
    assert [member.name for member in fields(derived)] == ["name", "width", "span", "parts", "options"]
    assert list(inspect.signature(base).parameters) == ["name", "width", "span"]


def test_a_derived_class_of_the_standard_library() -> None:
    base, *_ = classes(dataclass)

    @plain_dataclass(frozen=True)
    class Derived(base):  # type: ignore[misc, valid-type]
        last: int = 0

    assert repr(Derived("a", last=3)).endswith("Derived(name='a', width=1, last=3)")


def test_an_undecorated_derived_class() -> None:
    base, *_ = classes(dataclass)

    class Derived(base):  # type: ignore[misc, valid-type]
        pass

    assert Derived("a") == Derived("a") != base("a")


def test_threads_make_the_first_object() -> None:
    for _ in range(50):
        base, derived, _ = classes(dataclass)
        barrier, made = Barrier(8), []

        def make(class_: type, arguments: dict[str, Any], barrier: Barrier = barrier, made: list[Any] = made) -> None:
            barrier.wait()
            made.append(class_("a", **arguments).name)

        threads = [Thread(target=make, args=(base, {})) for _ in range(4)]
        threads += [Thread(target=make, args=(derived, {"parts": ()})) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == ["a"] * 8


def test_a_pickle_is_the_first_object_of_its_process() -> None:
    values = pickle.dumps([KeyRange(b"a", b"b"), KeyRange(b"a", b"b")])
    read = "import pickle, sys; first, second = pickle.loads(sys.stdin.buffer.read()); print(first == second)"
    done = subprocess.run([sys.executable, "-c", read], input=values, capture_output=True, check=True)
    assert done.stdout == b"True\n"
