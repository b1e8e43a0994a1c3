"""A session's settings: names, checked values, and their form for the planner."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS
from rewriter.errors import AnalysisError, DataError, Error, NotSupportedError
from rewriter.exec.engine_settings import EngineSetting, engine_setting, engine_setting_names
from rewriter.exec.sinks.sink_kinds import SINK_SETTINGS
from rewriter.grammar.statement_parts import percentage, percentage_text
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.cluster_settings import (
    ALLOWED_ADDRESSES,
    ALLOWED_OPTIONS,
    address_list,
    cluster_property,
    option_list,
)
from rewriter.runtime.text_variables import Variables
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant

if TYPE_CHECKING:
    from rewriter.planner.model.plan import Settings

#: The name of a variable of ``${x}``.
_VARIABLE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?", re.ASCII)
_VERIFICATIONS = ("off", "certificate")
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
#: The most digits of a number. Clocks and databases can hold such hours as seconds, and such bytes as rows.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class _Setting:
    """A setting: its default as text, and a function that returns the text in canonical form or raises."""

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
        f"'{text}' is not a partition overwrite mode.",
        hint="Use dynamic (replaces only the partitions that are written) or static (replaces all "
        "partitions under the static prefix).",
    )


def _cost(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in ("partitions", "bytes", "work"):
        return lowered
    raise DataError(
        f"'{text}' is not a cover cost.",
        hint="Use partitions (fewest partitions; the default), bytes (fewest bytes, from the mean size for each table "
        "and period) or work (bytes, and rewriter.scan_bytes for each table that is read).",
    )


def _verification(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in _VERIFICATIONS:
        return lowered
    percent = percentage(lowered.removesuffix("%").rstrip()) if lowered.endswith("%") else None
    if percent is not None:
        return f"{percentage_text(percent)}%"
    raise DataError(
        f"'{text}' is no way to verify queries.",
        hint="Use off, certificate (a checker that shares no code with the planner checks the cover of each query), or "
        "a percentage such as 1% (of the queries, rollups that were read are compared with their base).",
    )


def _proof_time(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in ("after", "before"):
        return lowered
    raise DataError(
        f"'{text}' is no time of a shadow proof.",
        hint="Use after (when the rows were read, in the background; the default) or before (the query waits, and does "
        "not read rollups that differ).",
    )


def _seconds(text: str) -> str:
    number = text.strip()
    if _SECONDS.fullmatch(number) and float(number) > 0:
        return number
    raise DataError(f"'{text}' is no number of seconds.", hint="Write a number above 0, such as 0.5.")


def _sink(text: str) -> str:
    lowered = text.strip().lower()
    if lowered in SINK_SETTINGS:
        return lowered
    raise DataError(f"'{text}' is not a sink.", hint=f"Use {', '.join(SINK_SETTINGS[:-1])} or {SINK_SETTINGS[-1]}.")


def _whole_number(minimum: int, example: int) -> Callable[[str], str]:
    """Returns the check of a setting that is a whole number."""

    def check(text: str) -> str:
        digits = text.strip()
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) >= minimum:
            return str(int(digits))
        raise DataError(
            f"'{text}' is not a whole number of {minimum} or more with at most {_MOST_DIGITS} digits.",
            hint=f"Use a number such as {example}." if minimum else f"Use a number such as {example}, or 0.",
        )

    return check


#: The value of a setting whose default depends on the statement.
_AUTOMATIC = "auto"
#: The default limits of the partitions of an INSERT. Where each has files of its own, they cost an inode each at least.
_MOST_PACKED_PARTITIONS = 200_000
_MOST_PARTITIONS_WITH_FILES = 10_000


def _partition_limit(text: str) -> str:
    if text.strip().lower() == _AUTOMATIC:
        return _AUTOMATIC
    try:
        return _whole_number(1, 10000)(text)
    except DataError as error:
        error.hint = "Use a number such as 10000, or auto."
        raise


def _accept_only(value: str, reason: str) -> Callable[[str], str]:
    """Returns the check of a Hive or Spark setting that has only one allowed value here, which scripts may set."""

    def check(text: str) -> str:
        if text.strip().lower() == value.lower():
            return value
        raise DataError(f"'{text}' is not supported: {reason}.", hint=f"Leave it at {value}.")

    return check


#: The values of settings that have few, by the function that checks them.
_CHOICES: Mapping[Callable[[str], str], tuple[str, ...]] = {
    _boolean: ("true", "false"),
    _mode: ("dynamic", "static"),
    _cost: ("partitions", "bytes", "work"),
    _verification: (*_VERIFICATIONS, "1%"),
    _proof_time: ("after", "before"),
    _sink: tuple(SINK_SETTINGS),
}

#: The setting that counts when Spark starts.
SPARK_PAGES = "rewriter.spark_ui"

_OVERRIDES = "overrides the property of the catalog; empty is that of the catalog"

_SETTINGS = {
    setting.name.lower(): setting
    for setting in (
        *(_Setting(key, "", cluster_property(key), _OVERRIDES) for key in CLUSTER_KEYS),
        _Setting(
            "hive.exec.dynamic.partition",
            "true",
            _accept_only("true", "an INSERT may write any partition"),
            "always true: partitions come from the query",
        ),
        _Setting(
            "hive.exec.dynamic.partition.mode",
            "nonstrict",
            _accept_only("nonstrict", "no partition column needs a value in PARTITION (…)"),
            "always nonstrict: every partition column may be dynamic",
        ),
        _Setting(
            ALLOWED_ADDRESSES,
            "",
            address_list,
            "addresses of engines that clusters of the catalog may have; empty is none",
        ),
        _Setting(ALLOWED_OPTIONS, "", option_list, "options that clusters of the catalog may set; empty is none"),
        _Setting(
            "rewriter.cache_bytes",
            "0",
            _whole_number(0, 67108864),
            "memory limit of the catalog's cache; 0 is no cache",
        ),
        _Setting(
            "rewriter.cache_prewarm", "false", _boolean, "read the whole catalog into the cache, in the background"
        ),
        _Setting(
            "rewriter.claim_seconds",
            "120",
            _whole_number(1, 120),
            "seconds of silence that end the claim of REFRESH FACT … MAX",
        ),
        _Setting("rewriter.cover_cost", "partitions", _cost, "what a cover minimizes: partitions, bytes or work"),
        _Setting("rewriter.least_retention_hours", "1", _whole_number(0, 24), "minimum hours in VACUUM … RETAIN"),
        _Setting("rewriter.log_retention_hours", "0", _whole_number(0, 24), "hours of the log to keep; 0 is all"),
        _Setting(
            "rewriter.max_dynamic_partitions",
            "auto",
            _partition_limit,
            "maximum partitions that one INSERT may write; auto: 200000 packed, else 10000",
        ),
        _Setting("rewriter.now", "", _instant, "fixes the current time; empty is the clock"),
        _Setting(
            "rewriter.partial_data", "false", _boolean, "compute results from existing partitions, with a warning"
        ),
        _Setting("rewriter.partition_overwrite_mode", "dynamic", _mode, "what INSERT OVERWRITE replaces"),
        _Setting("rewriter.periods", "", _periods, "allowed update periods; empty is all"),
        _Setting(
            "rewriter.query_log",
            "false",
            _boolean,
            "note queries over cubes in the catalog, without literals, for RECOMMEND ROLLUPS",
        ),
        _Setting("rewriter.sink", "auto", _sink, "the sink of a dynamic INSERT: auto, grouped, ungrouped or sorted"),
        _Setting(
            "rewriter.sink.max_open_writers",
            "64",
            _whole_number(1, 64),
            "maximum files that an ungrouped sink has open",
        ),
        _Setting(
            "rewriter.sink.target_file_bytes",
            "134217728",
            _whole_number(1, 134217728),
            "bytes that end a file; a packed file ends with the partition that reaches them",
        ),
        _Setting(SPARK_PAGES, "false", _boolean, "serve Spark's own pages, if the session starts Spark"),
        _Setting(
            "rewriter.strict_bounds", "false", _boolean, "a bound inside a base period is an error, not a warning"
        ),
        _Setting(
            "rewriter.scan_bytes",
            "500000",
            _whole_number(1, 500_000),
            "what a table costs that is read, in bytes of cover_cost work",
        ),
        _Setting("rewriter.verify", "off", _verification, "what checks queries over cubes: off, certificate, or n%"),
        _Setting("rewriter.verify_seconds", "1", _seconds, "the longest time of a shadow proof"),
        _Setting("rewriter.verify_when", "after", _proof_time, "when a query's shadow proof is made: after, or before"),
        _Setting(
            "spark.sql.session.timeZone",
            "UTC",
            _accept_only("UTC", "sessions run in UTC; a cube can have its own time zone, CREATE CUBE … TIME ZONE '…'"),
            "always UTC: sessions run in UTC",
        ),
    )
}
#: The Hive and Spark names of our settings.
_ALIASED = {
    "hive.exec.max.dynamic.partitions": "rewriter.max_dynamic_partitions",
    "spark.sql.sources.partitionOverwriteMode": "rewriter.partition_overwrite_mode",
}
_ALIASES = {name.lower(): setting_name for name, setting_name in _ALIASED.items()}


@dataclass(frozen=True)
class CacheSettings:
    """The settings of the catalog's cache.

    ``capacity`` is the most bytes that it may take, 0 for no cache. ``prewarm`` fills it before the first use.
    ``retention`` is the time for which its thread keeps entries of the log, in seconds (``None``: for ever).
    """

    capacity: int = 0
    prewarm: bool = False
    retention: float | None = None


@dataclass(frozen=True)
class ShadowProofSettings:
    """The settings of shadow proofs: the ``percent`` of the queries that get one, its longest time in ``seconds``, and
    whether the query waits for it.
    """

    percent: float = 0.0
    seconds: float = 1.0
    is_before: bool = False

    @property
    def is_of_all(self) -> bool:
        """Tests whether each query gets a proof."""
        return self.percent >= 100

    @property
    def share(self) -> float:
        """The part of a query's rollups that its proof compares: all of them where each query gets a proof, else so
        many that six proofs compare all.
        """
        return 1.0 if self.is_of_all else 1 / 6


class SessionSettings:
    """The settings of one session. Names are compared without case; unknown ones are errors with a hint."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        #: The variables of ``${x}``, which SET sets, too.
        self.text_variables = Variables()

    def copy(self) -> SessionSettings:
        """Returns settings with the same values, which change independently."""
        settings = SessionSettings()
        settings.take(self)
        return settings

    def set(self, name: str, value: str) -> str:
        """Sets a value and returns it in canonical form. Raises ``AnalysisError`` or ``DataError``."""
        setting = _setting(name)
        try:
            self._values[setting.name] = setting.check(value)
        except Error as error:
            error.object = setting.name
            raise
        return self._values[setting.name]

    def reset(self, name: str | None = None) -> None:
        """Resets one setting, or all, to the default."""
        if name is None:
            self._values.clear()
            self.text_variables = Variables()
        else:
            self._values.pop(_setting(name).name, None)

    def take(self, other: SessionSettings) -> None:
        """Takes over all values of other settings."""
        self._values = dict(other._values)
        self.text_variables = Variables().beside(other.text_variables)

    def get(self, name: str) -> str:
        """Returns the value as text; for a setting without effect, the value that was set, or an empty text."""
        setting = _setting(name)
        return self._values.get(setting.name, setting.default)

    def items(self) -> Iterator[tuple[str, str, str]]:
        """Yields name, value and meaning of every setting, by name; of those without effect, the ones that were set."""
        meanings = {setting.name: setting.meaning for setting in _SETTINGS.values()}
        meanings |= {name: _setting(name).meaning for name in self._values}
        meanings |= {name: f"the same as {setting_name}" for name, setting_name in _ALIASED.items()}
        for name, meaning in sorted(meanings.items()):
            yield name, self.get(name), meaning

    def choices(self, name: str) -> tuple[str, ...]:
        """Returns the values that a setting can have, the likelier first; none if there are many. Raises
        ``AnalysisError`` UNKNOWN_SETTING.
        """
        return _CHOICES.get(_setting(name).check, ())

    @property
    def caching(self) -> CacheSettings:
        """Returns the settings of the catalog's cache."""
        hours = int(self.get("rewriter.log_retention_hours"))
        return CacheSettings(
            int(self.get("rewriter.cache_bytes")),
            self.get("rewriter.cache_prewarm") == "true",
            hours * 3600.0 if hours else None,
        )

    @property
    def static_overwrite(self) -> bool:
        """Returns whether INSERT OVERWRITE wipes all partitions under the static prefix, as Spark does by default."""
        return self.get("rewriter.partition_overwrite_mode") == "static"

    def max_dynamic_partitions(self, *, is_packed: bool) -> int:
        """Returns the most partitions that one INSERT may write, in packed files or in files of each partition."""
        limit = self.get("rewriter.max_dynamic_partitions")
        if limit != _AUTOMATIC:
            return int(limit)
        return _MOST_PACKED_PARTITIONS if is_packed else _MOST_PARTITIONS_WITH_FILES

    @property
    def shadow_proofs(self) -> ShadowProofSettings:
        """Returns the settings of shadow proofs."""
        percent = percentage(self.get("rewriter.verify").removesuffix("%"))
        is_before = self.get("rewriter.verify_when") == "before"
        return ShadowProofSettings(percent or 0.0, float(self.get("rewriter.verify_seconds")), is_before)

    @property
    def logs_queries(self) -> bool:
        """Returns whether queries over cubes are noted in the query log of the catalog."""
        return self.get("rewriter.query_log") == "true"

    @property
    def spark_options(self) -> dict[str, str]:
        """Returns the settings of a Spark that the session starts."""
        return {"spark.ui.enabled": "true"} if self.get(SPARK_PAGES) == "true" else {}

    @property
    def sink(self) -> str:
        return self.get("rewriter.sink")

    @property
    def max_open_writers(self) -> int:
        return int(self.get("rewriter.sink.max_open_writers"))

    @property
    def target_file_bytes(self) -> int:
        return int(self.get("rewriter.sink.target_file_bytes"))

    @property
    def claim_seconds(self) -> int:
        return int(self.get("rewriter.claim_seconds"))

    @property
    def least_retention_hours(self) -> int:
        return int(self.get("rewriter.least_retention_hours"))

    def for_planner(self) -> Settings:
        """Returns the planner's settings. Reads the clock: call once per statement."""
        from rewriter.planner.model.plan import Clock, Settings

        pinned = self.get("rewriter.now")
        periods = self.get("rewriter.periods")
        return Settings(
            now=Clock(parse_instant(pinned) if pinned else time.time_ns() // 1000),
            partial_data=self.get("rewriter.partial_data") == "true",
            periods=frozenset(UpdatePeriod[name] for name in periods.split(",")) if periods else None,
            cost_in_bytes=self.get("rewriter.cover_cost") in ("bytes", "work"),
            scan_bytes=int(self.get("rewriter.scan_bytes")) if self.get("rewriter.cover_cost") == "work" else 0,
            strict_bounds=self.get("rewriter.strict_bounds") == "true",
            certify=self.get("rewriter.verify") == "certificate",
            now_is_fixed=bool(pinned),
        )


def effect_warning(name: str) -> str | None:
    """Returns the warning that a setting of Hive or Spark, which scripts may set, has no effect here."""
    lowered = name.lower()
    setting = None if lowered in _ALIASES or lowered in _SETTINGS else engine_setting(name)
    if setting is None:
        return None
    reason = f"it is always {setting.value}" if setting.changes else "it changes no result"
    if not setting.changes and lowered.startswith("spark."):
        reason += ", and Spark takes it from spark-defaults.conf or from the session that was handed in"
    return f"{name} has no effect here: {reason}."


#: What precedes the name of a variable of ``${x}``; a plain name is one of ``hiveconf``.
_VARIABLES = ("hivevar", "hiveconf")
#: The first words of settings that programs of a cluster have: an unknown one of them is an error.
_SETTING_WORDS = frozenset(
    "datanucleus dfs fs hadoop hbase hcat hdfs hive io ipc iceberg delta javax mapred mapreduce orc parquet rewriter "
    "spark tez yarn".split()
)


def variable_name(key: str) -> tuple[str, str] | None:
    """Returns the namespace and the name of the variable that ``SET key`` means; ``None`` for a setting.

    A key is a setting if it is one, begins as settings do, or is one of ours without ``rewriter.``.

    >>> variable_name("start"), variable_name("hivevar:start"), variable_name("hive.exec.dynamic.partition")
    (('hiveconf', 'start'), ('hivevar', 'start'), None)
    """
    space, colon, name = key.partition(":")
    if colon:
        is_variable = space.lower() in _VARIABLES and bool(_VARIABLE.fullmatch(name))
        is_setting = space.lower() == "hiveconf" and variable_name(name) is None
        return (space.lower(), name) if is_variable and not is_setting else None
    lowered = key.lower()
    is_ours = f"rewriter.{lowered}" in _SETTINGS
    if is_ours or lowered in _SETTINGS or lowered in _ALIASES or engine_setting(key) is not None:
        return None
    is_name = _VARIABLE.fullmatch(key) is not None and lowered.split(".")[0] not in _SETTING_WORDS
    return ("hiveconf", key) if is_name else None


def setting_key(key: str) -> str:
    """Returns the name of a setting without Hive's ``hiveconf:``."""
    space, colon, name = key.partition(":")
    return name if colon and space.lower() == "hiveconf" else key


def _setting(name: str) -> _Setting:
    lowered = name.lower()
    setting = _SETTINGS.get(_ALIASES.get(lowered, lowered))
    if setting is not None:
        return setting
    of_engine = engine_setting(name)
    if of_engine is not None:
        return _engine_setting(of_engine)
    names = [*(setting.name for setting in _SETTINGS.values()), *_ALIASED]
    if not lowered.startswith("rewriter"):
        names += engine_setting_names()
    spellings = {name.lower(): name for name in names}
    close = difflib.get_close_matches(lowered, spellings, n=1, cutoff=0.5 if lowered.startswith("rewriter") else 0.85)
    if f"rewriter.{lowered}" in spellings:
        close = [f"rewriter.{lowered}"]
    if variable_name(name) is not None and ":" in name:
        raise AnalysisError(
            f"There is no setting {name}.",
            condition="UNKNOWN_SETTING",
            object=name,
            hint=f"Execute SET {name} = value, or pass the value as a parameter, :name.",
        )
    raise AnalysisError(
        f"There is no setting {name}.",
        condition="UNKNOWN_SETTING",
        object=name,
        hint=(f"Did you mean {spellings[close[0]]}? " if close else "") + "SET alone lists all settings.",
    )


def _lenient(name: str) -> str:
    """Returns a hint with the functions that return NULL where ANSI mode raises."""
    if name.lower() != "spark.sql.ansi.enabled":
        return ""
    return (
        "Functions that return NULL instead of an error: try_cast, try_add, try_subtract, try_multiply, try_divide, "
        "try_mod, try_to_date, try_to_timestamp, try_to_number, try_element_at, get. "
    )


def _engine_setting(setting: EngineSetting) -> _Setting:
    """Returns a setting of Hive or Spark, whose check takes only values that change nothing here."""

    def check(text: str) -> str:
        if setting.accepts(text):
            return text.strip()
        raise NotSupportedError(
            f"{setting.name} = {text.strip()} is not supported: it would change {setting.changes}.",
            hint=_lenient(setting.name)
            + (
                f"Leave it at {setting.value}, which is always in effect here."
                if setting.value is not None
                else "Remove the statement, if results do not depend on it."
            ),
        )

    meaning = (
        f"always {setting.value}" if setting.value is not None else "accepted without effect: it changes no result"
    )
    return _Setting(setting.name.lower(), setting.value or "", check, meaning)
