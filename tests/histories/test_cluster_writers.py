"""Two clients of a real Spark cluster write one table whose catalog is on PostgreSQL, and a third process reads it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from spark_cluster import cluster
from sql_client import Client, StatementFailed

from rewriter.session import Session

ROUNDS, ROWS = 4, 5
CONF = {"spark.cores.max": "1", "spark.executor.memory": "700m"}


def insert(partition: str, value: int) -> str:
    """Overwrites a partition with equal rows."""
    values = ", ".join(f"({value})" for _ in range(ROWS))
    return f"INSERT OVERWRITE t PARTITION (p = '{partition}') VALUES {values}"


@pytest.mark.cluster
@pytest.mark.long
def test_two_clients_and_a_reader(tmp_path: Path, postgres_url: str) -> None:
    """A reader sees each partition as one of its writes left it. Of two writes of one partition at the same time, one
    has a conflict, or both come one after the other.
    """
    warehouse = tmp_path / "w"
    with ExitStack() as stack:
        url = stack.enter_context(cluster()).url
        reader = stack.enter_context(Session(warehouse, "duckdb", catalog=postgres_url))
        reader.execute("CREATE TABLE t (v INT) PARTITIONED BY (p STRING)")
        clients = [stack.enter_context(Client(warehouse, url, CONF, postgres_url)) for _ in range(2)]
        latest: dict[str, int] = {}
        for round_ in range(ROUNDS):
            for own, client in enumerate(clients):
                client.start(insert(f"own-{own}", 10 * round_ + own))
            while any(client.is_busy for client in clients):
                check(reader, {f"own-{own}": {latest.get(f"own-{own}"), 10 * round_ + own} for own in range(2)}, latest)
            for own, client in enumerate(clients):
                client.result()
                latest[f"own-{own}"] = 10 * round_ + own
            check(reader, {}, latest)
            values = [100 * (round_ + 1) + own for own in range(2)]
            for client, value in zip(clients, values, strict=True):
                client.start(insert("shared", value))
            while any(client.is_busy for client in clients):
                check(reader, {"shared": {latest.get("shared"), *values}}, latest)
            written = set()
            for client, value in zip(clients, values, strict=True):
                if committed(client):
                    written.add(value)
            assert written
            (latest["shared"],) = {row[0] for row in reader.execute("SELECT v FROM t WHERE p = 'shared'").rows()}
            assert latest["shared"] in written
            for client in clients:
                rows = client.execute("SELECT p, v, COUNT(*) AS n FROM t GROUP BY p, v ORDER BY p")
                assert rows == [[p, v, ROWS] for p, v in sorted(latest.items())]


def committed(client: Client) -> bool:
    """Waits for a write, and returns False if it had a conflict."""
    try:
        client.result()
    except StatementFailed as error:
        if error.condition != "CONCURRENT_WRITE":
            raise
        return False
    return True


def check(reader: Session, changing: dict[str, set[int | None]], latest: dict[str, int]) -> None:
    """Checks that each partition has the rows of one write: the latest, or one that is running."""
    rows = reader.execute("SELECT p, v, COUNT(*) AS n FROM t GROUP BY p, v").fetch()
    found = {str(p): v for p, v, _ in rows}
    assert len(found) == len(rows), "rows of two writes"
    assert all(n == ROWS for _, _, n in rows)
    for partition in {*changing, *latest, *found}:
        assert found.get(partition) in changing.get(partition, {latest.get(partition)})
