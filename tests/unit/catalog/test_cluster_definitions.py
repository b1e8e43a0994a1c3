"""Definitions of clusters: what they mean, and what they may not hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from rewriter.catalog.clusters.definitions import (
    CLUSTER_PROPERTIES,
    DEFAULT_CLUSTER_NAME,
    NO_CLUSTERS,
    USE_DEFAULT_CLUSTER,
    Cluster,
    Clusters,
    clusters_of,
)
from rewriter.errors import AnalysisError, DataError

FORBIDDEN_OPTIONS = """
    spark.jars spark.jars.packages spark.jars.repositories spark.plugins spark.driver.extraClassPath
    spark.executor.extraClassPath spark.driver.extraJavaOptions spark.executor.extraJavaOptions
    spark.driver.defaultJavaOptions spark.executor.defaultJavaOptions SPARK.DRIVER.EXTRAJAVAOPTIONS
    spark.extraListeners spark.sql.queryExecutionListeners spark.sql.extensions spark.sql.catalog.x
    spark.sql.catalog spark.sql.catalogImplementation spark.submit.pyFiles spark.files spark.archives
    spark.hadoop.fs.s3a.access.key spark.hadoop.fs.s3a.secret.key spark.hadoop.fs.s3a.endpoint
    spark.hadoop.fs.s3a.session.token spark.hadoop.fs.s3a.aws.credentials.provider
    spark.hadoop.fs.azure.account.key.x spark.master spark.remote spark.home spark.app.name spark.local.dir
    spark.eventLog.dir spark.driver.host spark.driver.bindAddress spark.pyspark.python
    spark.pyspark.driver.python spark.executorEnv.LD_PRELOAD spark.yarn.appMasterEnv.X
    spark.kubernetes.container.image spark.serializer spark.kryo.registrator spark.shuffle.manager
    spark.sql.adaptive.customCostEvaluatorClass spark.sql.adaptive.custom spark.sql.ansi.enabled
    spark.sql.warehouse.dir spark.sql.hive.metastore.jars spark.hive.metastore.uris spark.redaction.regex
    spark.ui.filters spark.authenticate.secret spark.ssl.keyPassword spark.connect.authenticate.token
    fs.s3a.secret.key hive.metastore.uris java.security.policy rewriter.allowed_addresses rewriter.catalog
    memory_limit allow_unsigned_extensions
    """.split()


@dataclass(frozen=True)
class _Table:
    cluster: str | None = None


def _clusters(definition: Any, **others: str) -> Clusters:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    keys = {"default": DEFAULT_CLUSTER_NAME, "use_default": USE_DEFAULT_CLUSTER}
    return clusters_of({CLUSTER_PROPERTIES: text, **{keys[key]: value for key, value in others.items()}})


def _refusal(definition: Any, **others: str) -> DataError:
    with pytest.raises(DataError) as raised:
        _clusters(definition, **others)
    error = raised.value
    assert error.condition == "INVALID_CLUSTER_PROPERTIES"
    assert error.sqlstate == "22023"
    return error


def test_without_properties_there_are_no_clusters():
    assert clusters_of({}) is NO_CLUSTERS
    assert not NO_CLUSTERS
    assert clusters_of({"another.property": "{"}) is NO_CLUSTERS
    assert NO_CLUSTERS.primary_of(_Table()) is None


def test_a_definition_becomes_values_in_its_order():
    clusters = _clusters(
        {
            "West": {"filesystem": "s3a://bucket//west/", "jobtracker": "sc://spark-a:15002"},
            "c-1_x": {
                "filesystem": "/data/c1/",
                "engine": "local[4]",
                "options": {"spark.executor.memory": "2g", "spark.executor.cores": 2, "spark.speculation": True},
            },
            "here": {},
        },
        default="WEST",
        use_default="True",
    )
    assert list(clusters.by_name) == ["west", "c-1_x", "here"]
    assert clusters.named("wEST") == Cluster("West", "s3://bucket/west", "sc://spark-a:15002", {})
    assert clusters.named("c-1_X") == Cluster(
        "c-1_x",
        "/data/c1",
        "local[4]",
        {"spark.executor.memory": "2g", "spark.executor.cores": "2", "spark.speculation": "true"},
    )
    assert clusters.named("here") == Cluster("here")
    assert (clusters.default, clusters.use_default) == ("West", True)
    assert clusters.primary_of(_Table()) == "West"
    assert clusters.primary_of(_Table("here")) == "here"


def test_a_default_may_be_named_before_the_clusters_are_defined():
    clusters = clusters_of({DEFAULT_CLUSTER_NAME: "c1"})
    assert (bool(clusters), clusters.default) == (False, "c1")
    assert _refusal({"c2": {}}, default="c1").object == DEFAULT_CLUSTER_NAME


def test_a_missing_cluster_is_an_error_with_the_nearest_name():
    clusters = _clusters({"west": {"filesystem": "/w"}, "east": {"filesystem": "/e"}})
    with pytest.raises(AnalysisError) as raised:
        clusters.named("wets")
    assert (raised.value.condition, raised.value.sqlstate) == ("CLUSTER_NOT_FOUND", "42704")
    assert raised.value.hint == "Did you mean west?"
    with pytest.raises(AnalysisError) as raised:
        NO_CLUSTERS.named("west")
    assert CLUSTER_PROPERTIES in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("", "no JSON"),
        ("{", "line 1, column 2"),
        ("[" * 100_000, "no JSON"),
        ('{"c1": {"options": {"spark.cores.max": ' + "9" * 5000 + "}}}", "no JSON"),
        ("[]", "no JSON object"),
        ('"c1"', "no JSON object"),
        ({"c1": "duckdb"}, "no JSON object"),
        ({"c 1": {}}, "no name of a cluster"),
        ({"": {}}, "no name of a cluster"),
        ({"c1;DROP": {}}, "no name of a cluster"),
        ({"é": {}}, "no name of a cluster"),
        ('{"c1": {"filesystem": "/a"}, "C1": {"filesystem": "/b"}}', "defined twice"),
        ('{"c1": {"filesystem": "/a"}, "c1": {"filesystem": "/b"}}', "defined twice"),
        ('{"c1": {"filesystem": "/a", "filesystem": "/b"}}', "given twice"),
        ({"c1": {"engine": "duckdb", "jobtracker": "duckdb"}}, "another word for engine"),
        ({"c1": {"file_system": "/a"}}, "'file_system' is unknown"),
        ({"c1": {"filesystem": 3}}, "must be a text"),
        ({"c1": {"filesystem": "data/c1"}}, "relative"),
        ({"c1": {"filesystem": ""}}, "relative"),
        ({"c1": {"filesystem": "/data/../etc"}}, "step . or .."),
        ({"c1": {"filesystem": "/data\n"}}, "cannot be printed"),
        ({"c1": {"filesystem": "ftp://host/x"}}, "files of ftp:// are not supported"),
        ({"c1": {"filesystem": "s3:///x"}}, "bucket is not named"),
        ({"c1": {"filesystem": "/a"}, "c2": {"filesystem": "/a/"}}, "are equal"),
        ({"c1": {"filesystem": "/a"}, "c2": {"filesystem": "//a/b"}}, "inside one another"),
        ({"c1": {"filesystem": "/"}, "c2": {"filesystem": "/b"}}, "inside one another"),
        ({"c1": {"filesystem": "s3://bucket/x/y"}, "c2": {"filesystem": "s3n://bucket/x"}}, "inside one another"),
        ({"c1": {}, "c2": {"engine": "duckdb"}}, "warehouse directory"),
        ({"c1": {"engine": "sqlite"}}, "no address of an engine"),
        ({"c1": {"engine": "local[0]"}}, "no address of an engine"),
        ({"c1": {"engine": "spark://host"}}, "no address of an engine"),
        ({"c1": {"engine": 1}}, "no address of an engine"),
        ({"c1": {"options": []}}, "no JSON object"),
        ({"c1": {"options": {"spark.cores.max": None}}}, "must be a text"),
        ({"c1": {"options": {"spark.cores.max": 1.5}}}, "must be a text"),
        ({"c1": {"options": {"spark.cores.max": "1", "spark.CORES.max": "2"}}}, "given twice"),
        ({"c1": {"engine": "duckdb", "options": {"spark.cores.max": "1"}}}, "DuckDB has no options"),
    ],
)
def test_definitions_that_cannot_be_used(definition, words):
    error = _refusal(definition)
    assert words in error.message
    assert (error.object or "").startswith(CLUSTER_PROPERTIES)


def test_similar_roots_are_not_inside_one_another():
    _clusters({"c1": {"filesystem": "/data/a"}, "c2": {"filesystem": "/data/ab"}, "c3": {"filesystem": "s3://data/a"}})
    _clusters({"c1": {"filesystem": "s3://bucket/x"}, "c2": {"filesystem": "s3://bucket2/x"}, "here": {}})


@pytest.mark.parametrize(
    "option",
    [
        *FORBIDDEN_OPTIONS,
        "",
        "spark",
        "spark.",
        "spark.cores.max\n",
        "spark.cores.max --conf spark.jars=x",
        "spark.cores.maxx",
    ],
)
def test_options_that_never_come_from_a_definition(option):
    error = _refusal({"c1": {"engine": "local[2]", "options": {option: "zzvalue"}}})
    assert "is not allowed" in error.message
    assert "zzvalue" not in str(error)


@pytest.mark.parametrize("value", ["1g -XX:OnOutOfMemoryError=x", "1g\n", "$(x)", "", "é", "1" * 101])
def test_values_of_options_are_plain(value):
    error = _refusal({"c1": {"options": {"spark.driver.memory": value}}})
    assert "its value" in error.message


@pytest.mark.parametrize(
    "address",
    [
        "sc://host:15002/;token=zzsecret",
        "sc://host/;use_ssl=true;token=zzsecret",
        "sc://host/;user_id=zzsecret",
        "sc://user:zzsecret@host:15002",
        "spark://user:zzsecret@host:7077",
        "sc://host:15002/;x-header=zzsecret",
    ],
)
def test_credentials_in_addresses_of_engines_are_refused_and_not_shown(address):
    error = _refusal({"c1": {"engine": address}})
    assert "zzsecret" not in str(error)
    assert "Credentials are never stored" in (error.hint or "")


@pytest.mark.parametrize(
    "root",
    [
        "s3://key:zzsecret@bucket/x",
        "s3://zzsecret@bucket/x",
        "s3://key:zz/secret@bucket/x",
        "s3://bucket/x?secret=zzsecret",
        "s3://bucket/x#zzsecret",
        "gs://zzsecret@bucket",
    ],
)
def test_credentials_in_filesystems_are_refused_and_not_shown(root):
    error = _refusal({"c1": {"filesystem": root}})
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        "local",
        "local[*]",
        "local[2]",
        "local[2, 3]",
        "spark://h:7077",
        "spark://a:1,b-2.c:2",
        "sc://h",
        "sc://[::1]:15002",
        "sc://h:15002/;use_ssl=true",
    ],
)
def test_addresses_of_engines(engine):
    assert _clusters({"c1": {"engine": engine}}).named("c1").engine == engine


@pytest.mark.parametrize("root", ["hdfs://host/x", "gs://bucket/x", "abfss://c@account.dfs.core.windows.net/x"])
def test_filesystems_that_cannot_be_read_are_refused(root):
    error = _refusal({"c1": {"filesystem": root}})
    assert f"files of {root.partition(':')[0]}:// are not supported" in error.message


def test_other_values_of_the_properties():
    assert _refusal({"c1": {}}, use_default="yes").object == USE_DEFAULT_CLUSTER
    assert _refusal({"c1": {}}, default="").object == DEFAULT_CLUSTER_NAME
    assert "Did you mean c1?" in (_refusal({"c1": {}}, default="c11").hint or "")
