"""``dataclass``, whose work is done when a class has its first object.

``dataclasses.dataclass`` compiles six methods when a class is defined: 0.4 ms, and a short command defines 300 classes
and uses 50. Here a definition takes a microsecond. The first object, ``dataclasses.fields`` and the like make the class
what the standard library makes of it, so that its objects, their speed and their pickles are the same. Code that
Spark's workers run without this package (``exec/formats``, ``exec/sinks``) uses ``dataclasses`` itself.
"""

from __future__ import annotations

import dataclasses
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

_LOCK = RLock()

if not TYPE_CHECKING:

    def dataclass(class_=None, /, **parameters):
        """Makes a class a dataclass with these parameters of ``dataclasses.dataclass``, without ``init`` and
        ``slots``.
        """
        if class_ is None:
            return lambda decorated: dataclass(decorated, **parameters)
        pending = _PendingFields(class_, parameters)

        def __init__(self, *arguments, **named_arguments):
            pending.complete()
            class_.__init__(self, *arguments, **named_arguments)

        def __setstate__(self, state):  # of pickles, which do not call __init__
            pending.complete()
            self.__dict__.update(state)

        class_.__init__, class_.__setstate__, class_.__dataclass_fields__ = __init__, __setstate__, pending
        return class_


class _PendingFields:
    """The fields of a class that is not complete, as ``dataclasses`` reads them. To read them completes the class."""

    def __init__(self, class_: type, parameters: dict[str, bool]) -> None:
        self._class, self._parameters = class_, parameters

    def __get__(self, _: object, owner: type) -> Any:
        self.complete()
        return self._class.__dict__["__dataclass_fields__"]

    def complete(self) -> None:
        """Makes the class a dataclass, once. Its present ``__init__`` is replaced last: threads wait in it."""
        with _LOCK:
            if self._class.__dict__["__dataclass_fields__"] is not self:
                return
            members = {"__module__": self._class.__module__, "__qualname__": self._class.__qualname__, "__doc__": ""}
            dataclasses.dataclass(init=False, **self._parameters)(self._class)
            with_init = type(self._class)(self._class.__name__, (self._class,), members)
            without_init = {"repr": False, "eq": False, "order": False, "kw_only": False, "match_args": False}
            dataclasses.dataclass(**{**self._parameters, **without_init})(with_init)
            self._class.__init__ = with_init.__dict__["__init__"]
