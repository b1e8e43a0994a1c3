"""A session's settings: names, checked values, and what they mean to the planner."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rewriter.errors import AnalysisError, DataError, Error, NotSupportedError
from rewriter.planner.plan import Settings
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.periods import UpdatePeriod

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
#: Hours and bytes of so many digits are still numbers of seconds and of rows to every clock and database.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class _Setting:
    """A setting: its default as text, and a function that answers the text in canonical form or raises."""

    name: str
    default: str
    check: Callable[[str], str]
    meaning: str


def _boolean(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return "true"
    if lowered in _FALSE:
        return "false"
    raise DataError(f"'{text}' is neither true nor false.", hint="Use true or false.")


def _instant(text: str) -> str:
    if text.strip():
        parse_instant(text.strip())
    return text.strip()


def _periods(text: str) -> str:
    names = [part.strip() for part in text.split(",") if part.strip()]
    return ",".join(period.name for period in sorted({UpdatePeriod.named(name) for name in names}))


def _mode(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in ("static", "dynamic"):
        return lowered
    raise DataError(
        f"'{text}' is no partition overwrite mode.",
        hint="Use dynamic (only the partitions written are replaced) or static (all under the static prefix go).",
    )


def _cost(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in ("partitions", "bytes"):
        return lowered
    raise DataError(
        f"'{text}' is no cost of a cover.",
        hint="Use partitions (the fewest; the default) or bytes (by the mean of each table and period).",
    )


def _whole(least: int, example: int) -> Callable[[str], str]:
    """The check of a setting that is a whole number."""

    def check(text: str) -> str:
        digits = text.strip()
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) >= least:
            return str(int(digits))
        raise DataError(
            f"'{text}' is no whole number from {least} on, of {_MOST_DIGITS} digits at most.",
            hint=f"Use a number such as {example}." if least else f"Use a number such as {example}, or 0.",
        )

    return check


def _only(value: str, why: str) -> Callable[[str], str]:
    """A setting of Hive's or Spark's that scripts set to what is always so here."""

    def check(text: str) -> str:
        if text.strip().lower() == value.lower():
            return value
        raise DataError(f"'{text}' is not what happens here: {why}.", hint=f"Leave it at {value}.")

    return check


_SETTINGS = {
    setting.name.lower(): setting
    for setting in (
        _Setting(
            "hive.exec.dynamic.partition",
            "true",
            _only("true", "an INSERT may write any partition"),
            "always so: partitions come from the query",
        ),
        _Setting(
            "hive.exec.dynamic.partition.mode",
            "nonstrict",
            _only("nonstrict", "no partition column needs a value in PARTITION (…)"),
            "always so: every partition column may be dynamic",
        ),
        _Setting(
            "rewriter.cache_bytes",
            "0",
            _whole(0, 67108864),
            "what the catalog's cache may take in memory; 0 is no cache",
        ),
        _Setting(
            "rewriter.cache_prewarm", "false", _boolean, "read the whole catalog into the cache, in the background"
        ),
        _Setting("rewriter.cover_cost", "partitions", _cost, "what a cover has least of: partitions or bytes"),
        _Setting("rewriter.least_retention_hours", "1", _whole(0, 24), "fewest hours that VACUUM … RETAIN may name"),
        _Setting(
            "rewriter.log_retention_hours", "0", _whole(0, 24), "hours of the log that a cache leaves there; 0 is all"
        ),
        _Setting(
            "rewriter.max_dynamic_partitions", "10000", _whole(1, 10000), "most partitions that one INSERT may write"
        ),
        _Setting("rewriter.now", "", _instant, "pins the present moment; empty is the clock"),
        _Setting("rewriter.partial_data", "false", _boolean, "answer with what is there, and warn"),
        _Setting("rewriter.partition_overwrite_mode", "dynamic", _mode, "what INSERT OVERWRITE replaces"),
        _Setting("rewriter.periods", "", _periods, "the update periods that may be used; empty is all"),
        _Setting(
            "spark.sql.session.timeZone",
            "UTC",
            _only("UTC", "sessions run in UTC; a cube names its own zone, CREATE CUBE … TIME ZONE '…'"),
            "always so: sessions run in UTC",
        ),
    )
}
#: What Spark and Hive call settings of ours.
_SAME = {
    "hive.exec.max.dynamic.partitions": "rewriter.max_dynamic_partitions",
    "spark.sql.sources.partitionOverwriteMode": "rewriter.partition_overwrite_mode",
}
_ALIASES = {name.lower(): ours for name, ours in _SAME.items()}
#: Settings of Hive and Spark, with all below them, that say how work is done there and change no answer of theirs.
_OF_WORK = frozenset(
    """
    hive.auto.convert hive.cbo hive.exec.compress hive.exec.max.created.files hive.exec.max.dynamic.partitions.pernode
    hive.exec.parallel hive.exec.reducers hive.execution.engine hive.groupby.skewindata hive.map.aggr hive.merge
    hive.optimize hive.stats hive.tez hive.vectorized mapred.job mapred.map mapred.output.compress
    mapred.output.compression mapred.reduce mapreduce.job mapreduce.map mapreduce.output.fileoutputformat.compress
    mapreduce.reduce spark.sql.adaptive spark.sql.autobroadcastjointhreshold spark.sql.broadcasttimeout
    spark.sql.files.maxpartitionbytes spark.sql.shuffle.partitions tez
    """.split()
)
_BELOW = tuple(f"{one}." for one in _OF_WORK)


@dataclass(frozen=True)
class CacheSettings:
    """How many bytes the catalog's cache may take, 0 for none, whether it is filled before anybody asks, and for how
    long its thread keeps entries of the log, in seconds (``None``: for ever).
    """

    capacity: int = 0
    prewarm: bool = False
    retention: float | None = None


class SessionSettings:
    """The settings of one session. Names are compared without case; unknown ones are errors with a hint."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def set(self, name: str, value: str) -> str:
        """Sets a value and answers it in canonical form. Raises ``AnalysisError`` or ``DataError``."""
        setting = _setting(name)
        try:
            self._values[setting.name] = setting.check(value)
        except Error as error:
            error.object = setting.name
            raise
        return self._values[setting.name]

    def reset(self, name: str | None = None) -> None:
        """Puts one setting, or all, back to the default."""
        if name is None:
            self._values.clear()
        else:
            self._values.pop(_setting(name).name, None)

    def get(self, name: str) -> str:
        """The value as text; of a setting without effect, what was set, or nothing."""
        setting = _setting(name)
        return self._values.get(setting.name, setting.default)

    def items(self) -> Iterator[tuple[str, str, str]]:
        """Name, value and meaning of every setting, by name; of those without effect, the ones that were set."""
        meanings = {setting.name: setting.meaning for setting in _SETTINGS.values()}
        meanings |= {name: _setting(name).meaning for name in self._values}
        meanings |= {name: f"the same as {ours}" for name, ours in _SAME.items()}
        for name, meaning in sorted(meanings.items()):
            yield name, self.get(name), meaning

    @property
    def caching(self) -> CacheSettings:
        """What the catalog keeps in memory."""
        hours = int(self.get("rewriter.log_retention_hours"))
        return CacheSettings(
            int(self.get("rewriter.cache_bytes")),
            self.get("rewriter.cache_prewarm") == "true",
            hours * 3600.0 if hours else None,
        )

    @property
    def static_overwrite(self) -> bool:
        """Whether INSERT OVERWRITE wipes all partitions under the static prefix, as Spark does by default."""
        return self.get("rewriter.partition_overwrite_mode") == "static"

    @property
    def max_dynamic_partitions(self) -> int:
        return int(self.get("rewriter.max_dynamic_partitions"))

    @property
    def least_retention_hours(self) -> int:
        return int(self.get("rewriter.least_retention_hours"))

    def for_planner(self) -> Settings:
        """What the planner is told. Reads the clock: once per statement."""
        pinned = self.get("rewriter.now")
        periods = self.get("rewriter.periods")
        return Settings(
            now=parse_instant(pinned) if pinned else time.time_ns() // 1000,
            partial_data=self.get("rewriter.partial_data") == "true",
            periods=frozenset(UpdatePeriod[name] for name in periods.split(",")) if periods else None,
            cost_in_bytes=self.get("rewriter.cover_cost") == "bytes",
        )


def without_effect(name: str) -> bool:
    """Whether it is a setting of Hive's or Spark's that scripts may set, and that changes nothing here."""
    lowered = name.lower()
    return lowered not in _ALIASES and (lowered in _OF_WORK or lowered.startswith(_BELOW))


def _setting(name: str) -> _Setting:
    lowered = name.lower()
    setting = _SETTINGS.get(_ALIASES.get(lowered, lowered))
    if setting is None and without_effect(name):
        return _Setting(lowered, "", str, "taken and without effect: how Hive or Spark works")
    if setting is not None:
        return setting
    if lowered.startswith("spark."):
        raise NotSupportedError(
            f"The engine's setting {name} cannot be set in a session yet.",
            object=name,
            hint="Of Spark's settings spark.sql.sources.partitionOverwriteMode is understood. "
            "Put others into Spark's own configuration (spark-defaults.conf).",
        )
    close = difflib.get_close_matches(lowered, _SETTINGS, n=1, cutoff=0.5 if lowered.startswith("rewriter") else 0.9)
    raise AnalysisError(
        f"There is no setting {name}.",
        condition="UNKNOWN_SETTING",
        object=name,
        hint=(f"Did you mean {_SETTINGS[close[0]].name}? " if close else "") + "SET alone lists all settings.",
    )
