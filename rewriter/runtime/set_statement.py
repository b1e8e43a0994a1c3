"""SET and RESET."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS, clusters_of
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, Error, NotSupportedError
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.runtime.cluster_engines import effective_properties
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.settings import SessionSettings, effect_warning, setting_key, variable_name

if TYPE_CHECKING:
    from rewriter.runtime.text_variables import Variables


def run_set(
    statement: SetSetting | ResetSetting, settings: SessionSettings, properties: Callable[[], Mapping[str, str]]
) -> Result:
    """Runs SET or RESET. Returns the setting's value, or all settings. Raises the errors of ``SessionSettings`` at the
    statement. ``properties`` returns the properties of the catalog, which the session may override.
    """
    before = settings.copy()
    try:
        result = _run(statement, settings)
        if statement.key is not None and statement.key.lower() in CLUSTER_KEYS:
            clusters_of(effective_properties(properties(), settings))
        return result
    except Error as error:
        settings.take(before)
        raise error.at(statement.span) from None


def is_a_variable(name: str) -> NotSupportedError:
    """Returns the error for SET of a session variable."""
    return NotSupportedError(
        f"{name} is a VARIABLE and cannot be updated using the SET statement.",
        condition="UNSUPPORTED_FEATURE.SET_VARIABLE_USING_SET",
        sqlstate="0A000",
        object=name,
        hint=f"Write SET VARIABLE {name} = ….",
    )


def _run(statement: SetSetting | ResetSetting, settings: SessionSettings) -> Result:
    variable = None if statement.key is None else variable_name(statement.key)
    if variable is not None:
        return _run_variable(statement, variable, settings.text_variables)
    key = None if statement.key is None else setting_key(statement.key)
    if isinstance(statement, ResetSetting):
        settings.reset(key)
        return Result("RESET")
    if key is None:
        variables = settings.text_variables
        rows: list[Row] = list(settings.items())
        rows += [
            (name, value, "a variable: ${" + name + "}") for name, value in sorted(variables.configuration.items())
        ]
        rows += [
            (f"hivevar:{name}", value, "a variable: ${hivevar:" + name + "}")
            for name, value in sorted(variables.values.items())
        ]
        return listing("SET", strings("key", "value", "meaning"), rows)
    if statement.value is not None:
        settings.set(key, statement.value)
    warning = None if statement.value is None else effect_warning(key)
    return _shown(statement.key or key, settings.get(key), () if warning is None else (warning,))


def _run_variable(statement: SetSetting | ResetSetting, variable: tuple[str, str], variables: Variables) -> Result:
    """Runs SET or RESET of a variable of ``${x}``: its value is the text as typed, quotes included."""
    space, name = variable
    values = variables.values if space == "hivevar" else variables.configuration
    if isinstance(statement, ResetSetting):
        values.pop(name, None)
        return Result("RESET")
    if statement.value is not None:
        values[name] = statement.value if statement.typed is None else statement.typed
    elif name not in values:
        raise AnalysisError(
            f"There is no setting and no variable {statement.key}.",
            condition="UNKNOWN_SETTING",
            object=name,
            hint=f"Set it: SET {statement.key} = value. SET alone lists all settings.",
        )
    return _shown(statement.key or name, values[name], ())


def _shown(key: str, value: str, warnings: tuple[str, ...]) -> Result:
    columns = (Column("key", "string"), Column("value", "string"))
    return Result("SET", columns, [(key, value)], rowcount=1, warnings=warnings)
