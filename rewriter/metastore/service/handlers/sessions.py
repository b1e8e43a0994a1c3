"""The service itself and its clients: names, settings, and roles, of which there are none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers

_STARTED = int(time.time())
_ALIVE = 2


def set_ugi(call: Call) -> list[str]:
    call.client.user = str(call.arguments.user_name or "")
    return [call.client.user]


def _get_name(call: Call) -> str:
    return "rewriter"


def _get_version(call: Call) -> str:
    return "3.0"


def _get_status(call: Call) -> int:
    return _ALIVE


def _get_counters(call: Call) -> dict[str, int]:
    """Returns the calls, errors and microseconds of each method since the start."""
    return call.service.metrics.counters()


def _get_counter(call: Call) -> int:
    return call.service.metrics.counters().get(str(call.arguments.key), 0)


def _alive_since(call: Call) -> int:
    return _STARTED


def shutdown(call: Call) -> None:
    """Clients say so before they close their connection. The server goes on."""


def nothing(call: Call) -> list[Any]:
    return []


def get_privilege_set(call: Call) -> Any:
    return structure("PrincipalPrivilegeSet")(userPrivileges={}, groupPrivileges={}, rolePrivileges={})


def get_config_value(call: Call) -> str:
    """Returns the value that the client would take by default: settings of Hive have none here."""
    return str(call.arguments.defaultValue or "")


def _refuse_setting(call: Call) -> None:
    """Settings of Hive have no meaning here: setting or reading one is the error that Hive has for unknown keys."""
    raise structure("MetaException")(message=f"Invalid configuration key {call.arguments.key}: there are no settings.")


HANDLERS: Handlers = {
    "set_ugi": set_ugi,
    "getName": _get_name,
    "getVersion": _get_version,
    "getStatus": _get_status,
    "getCounters": _get_counters,
    "getCounter": _get_counter,
    "aliveSince": _alive_since,
    "shutdown": shutdown,
    "list_roles": nothing,
    "get_role_names": nothing,
    "list_privileges": nothing,
    "get_privilege_set": get_privilege_set,
    "get_config_value": get_config_value,
    "getMetaConf": _refuse_setting,
    "setMetaConf": _refuse_setting,
}
