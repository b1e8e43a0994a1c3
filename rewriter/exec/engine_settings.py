"""The settings of Hive and Spark, with what they would change, from a file of the package.

Most control how Hive or Spark works, and change no result: scripts may set them, without effect. The others are
refused, except with the value that is always in effect here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from rewriter.lazy_dataclass import dataclass

_STORED = files(__package__).joinpath("engine_settings.txt")
_NOTHING = "nothing"


@dataclass(frozen=True)
class EngineSetting:
    """A setting of Hive or Spark.

    ``changes`` says what it would change, and is empty for a setting that changes no result. ``value`` is what is
    always in effect here, if a value of the setting has this meaning.
    """

    name: str
    changes: str = ""
    value: str | None = None

    def accepts(self, value: str) -> bool:
        """Returns whether a script may set the value, because it changes nothing."""
        return not self.changes or (self.value is not None and value.strip().lower() == self.value.lower())


def engine_setting(name: str) -> EngineSetting | None:
    """Returns the setting of this name, in any case, or ``None`` if neither Hive nor Spark has one."""
    lowered = name.lower()
    settings = _settings()
    if lowered in settings:
        return settings[lowered]
    parts = lowered.split(".")
    prefixes = (".".join(parts[:count]) + ".*" for count in range(len(parts), 0, -1))
    return next((EngineSetting(lowered, settings[p].changes) for p in prefixes if p in settings), None)


def engine_setting_names() -> Iterator[str]:
    """Yields the full names of all settings that the file lists."""
    return (setting.name for key, setting in _settings().items() if not key.endswith(".*"))


@cache
def _settings() -> Mapping[str, EngineSetting]:
    """Returns the settings by name in lower case; a prefix ends with ``.*``."""
    settings = {}
    changes = ""
    for line in _STORED.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line[1:-1]
            changes = "" if heading == _NOTHING else heading
        elif line and not line.startswith("#"):
            name, equals, value = line.partition(" = ")
            settings[name.lower()] = EngineSetting(name, changes, value if equals else None)
    return settings
