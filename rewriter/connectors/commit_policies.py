"""Policies that follow the commit of a partition, by name, as a table property gives it.

A name from the catalog is only looked up among the names that this process registers. No name is ever imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from rewriter.errors import AnalysisError, InterfaceError

if TYPE_CHECKING:
    from rewriter.catalog.model.partition_commit import CommittedPartition

CommitPolicy: TypeAlias = "Callable[[CommittedPartition], object]"
"""What a policy does with a partition that was committed. It may be called again for the same commit."""

_registered: dict[str, CommitPolicy] = {}


def register_commit_policy(name: str, policy: CommitPolicy) -> None:
    """Registers a callable in this process under a name that the property ``rewriter.partition_commit.policies`` may
    list.

    The process that runs a stream calls it with a ``CommittedPartition`` after each commit of a partition, in the order
    of the list, and once more after a crash in between: a policy must allow that. If it raises, the stream fails, and
    the next run calls it again. A later call with the same name replaces the policy.

    Raises ``AnalysisError`` INVALID_PARTITION_COMMIT for a name that is empty, built in, or has a comma, and
    ``InterfaceError`` for a name that is no str, or a policy that cannot be called.

    Examples:
        >>> committed = []
        >>> register_commit_policy("notify", lambda partition: committed.append(partition.values))
    """
    from rewriter.catalog.model.partition_commit import METASTORE, SUCCESS_FILE  # Loads the catalog.

    if not isinstance(name, str) or not callable(policy):
        given = f"The name is a {type(name).__name__}" if not isinstance(name, str) else "The policy cannot be called"
        raise InterfaceError(f"{given}.", hint="Call register_commit_policy('name', function).")
    plain = name.strip()
    if not plain or "," in plain or plain in (METASTORE, SUCCESS_FILE):
        raise AnalysisError(
            f"'{name}' is no name for a policy.",
            condition="INVALID_PARTITION_COMMIT",
            object=name,
            hint=f"Use a name without a comma, other than {METASTORE} and {SUCCESS_FILE}.",
        )
    _registered[plain] = policy


def commit_policy(name: str) -> CommitPolicy:
    """Returns the registered policy of a name. Raises ``AnalysisError`` UNKNOWN_COMMIT_POLICY."""
    if name not in _registered:
        raise AnalysisError(
            f"No policy '{name}' is registered in this process.",
            condition="UNKNOWN_COMMIT_POLICY",
            object=name,
            hint=f"Call rewriter.register_commit_policy('{name}', …) before the stream starts.",
        )
    return _registered[name]
