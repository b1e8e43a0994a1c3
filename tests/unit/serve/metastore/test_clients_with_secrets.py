"""Clients store no URI with a password or a signature, as statements do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from descriptions import EXTERNAL, changed, partition, table, view
from pymetastore.hive_metastore import ttypes

SECRET = "t0pS3cret"
URIS = [f"s3a://KEY:{SECRET}@bucket/x", f"s3://bucket/x?X-Amz-Signature={SECRET}"]
Change = Callable[[Any, str], None]

CHANGES: dict[str, Change] = {
    "a view": lambda c, uri: c.create_table(view("w", f"SELECT * FROM parquet.`{uri}`")),
    "an expanded view": lambda c, uri: c.create_table(changed(view("w"), viewExpandedText=f"SELECT '{uri}'")),
    "a property of a view": lambda c, uri: c.create_table(view("w", k=uri)),
    "an altered view": lambda c, uri: c.alter_table("default", "v", view("v", f"SELECT '{uri}' AS a")),
    "a table": lambda c, uri: c.create_table(changed(table("w"), sd=changed(table("w").sd, location=uri))),
    "a property": lambda c, uri: c.create_table(table("w", parameters={"k": f"at {uri} now"})),
    "an option": lambda c, uri: c.create_table(_with_option(table("w"), uri)),
    "an altered property": lambda c, uri: _altered(c, {"k": uri}),
    "a database": lambda c, uri: c.create_database(ttypes.Database("w", uri)),
    "a database's place": lambda c, uri: c.create_database(ttypes.Database("w", "", uri)),
    "a partition": lambda c, uri: c.add_partition(partition("t", ["y"], parameters={"k": uri})),
    "partitions": lambda c, uri: c.add_partitions([partition("t", ["y"], parameters={"k": uri})]),
    "a partition's place": lambda c, uri: c.add_partition(
        changed(partition("t", ["y"]), sd=ttypes.StorageDescriptor(location=uri))
    ),
    "an altered partition": lambda c, uri: c.alter_partition(
        "default", "t", partition("t", ["x"], parameters={"k": uri})
    ),
    "a function": lambda c, uri: c.create_function(
        ttypes.Function("fn", "default", "a.B", "ada", 1, 0, 1, [ttypes.ResourceUri(1, uri)])
    ),
}


def _with_option(given: Any, uri: str) -> Any:
    given.sd.serdeInfo.parameters = {"endpoint": uri}
    return given


def _altered(client: Any, parameters: dict[str, str]) -> None:
    shown = client.get_table("default", "t")
    client.alter_table("default", "t", changed(shown, parameters={**shown.parameters, **parameters}))


@pytest.mark.share(1)
@pytest.mark.parametrize("name", CHANGES)
def test_no_client_stores_a_secret(metastore: Any, client: Any, tmp_path: Any, name: str) -> None:
    client.create_table(table("t", keys={"d": "string"}, location=tmp_path / "t", kind=EXTERNAL))
    client.add_partition(partition("t", ["x"]))
    client.create_table(view("v"))
    before = metastore.catalog.snapshot().sequence
    for uri in URIS:
        with pytest.raises(Exception, match=r"URI with credentials|INVALID_LOCATION|UNSUPPORTED") as caught:
            CHANGES[name](client, uri)
        assert SECRET not in str(caught.value)
    assert metastore.catalog.snapshot().sequence == before
