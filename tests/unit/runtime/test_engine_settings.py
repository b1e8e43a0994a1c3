"""The settings of Hive and Spark: all are listed, with what they would change."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rewriter.errors import AnalysisError, NotSupportedError
from rewriter.exec.engine_settings import engine_setting, engine_setting_names
from rewriter.runtime.settings import SessionSettings, effect_warning

_OWN = {
    "hive.exec.dynamic.partition",
    "hive.exec.dynamic.partition.mode",
    "hive.exec.max.dynamic.partitions",
    "spark.sql.session.timezone",
    "spark.sql.sources.partitionoverwritemode",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hive.mapred.mode", "nonstrict"),
        ("hive.mapred.mode", "strict"),
        ("hive.support.concurrency", "true"),
        ("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"),
        ("hive.msck.path.validation", "skip"),
        ("hive.msck.repair.batch.size", "1000"),
        ("hive.execution.engine", "tez"),
        ("mapreduce.job.queuename", "etl"),
        ("tez.queue.name", "etl"),
        ("spark.executor.memory", "4g"),
        ("spark.sql.parquet.compression.codec", "zstd"),
        ("spark.sql.adaptive.enabled", "false"),
        ("spark.sql.ansi.enabled", "TRUE"),
        ("SPARK.SQL.CaseSensitive", "false"),
        ("hive.exec.default.partition.name", "__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_a_setting_that_changes_nothing_is_taken_with_a_warning(name: str, value: str) -> None:
    settings = SessionSettings()
    assert settings.set(name, value) == value
    assert settings.get(name) == value
    assert effect_warning(name) is not None


@pytest.mark.parametrize(
    ("name", "value", "changes"),
    [
        ("spark.sql.ansi.enabled", "false", "errors of casts, arithmetic and array indexes into NULL"),
        ("spark.sql.caseSensitive", "true", "which names are the same name"),
        ("spark.sql.storeAssignmentPolicy", "LEGACY", "the values that an INSERT stores"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY", "how texts are read as dates"),
        ("spark.sql.files.ignoreCorruptFiles", "true", "which files are read"),
        ("mapreduce.input.fileinputformat.input.dir.recursive", "true", "which files are read"),
        ("hive.exec.default.partition.name", "none", "the directory of NULL's partition"),
        ("hive.groupby.orderby.position.alias", "false", "GROUP BY and ORDER BY"),
        ("spark.sql.warehouse.dir", "/tmp", "the place of databases and tables"),
    ],
)
def test_a_setting_that_changes_results_is_refused_with_what_it_would_change(
    name: str, value: str, changes: str
) -> None:
    settings = SessionSettings()
    with pytest.raises(NotSupportedError, match=changes) as caught:
        settings.set(name, value)
    assert caught.value.hint
    assert caught.value.object
    assert name not in {name for name, _, _ in settings.items()}


@pytest.mark.parametrize(
    ("misspelled", "suggestion"),
    [
        ("hive.exec.paralel", "hive.exec.parallel"),
        ("hive.suport.concurrency", "hive.support.concurrency"),
        ("spark.sql.parquet.compresion.codec", "spark.sql.parquet.compression.codec"),
        ("spark.sql.ansi.enable", "spark.sql.ansi.enabled"),
        ("spark.sql.session.timezon", "spark.sql.session.timeZone"),
        ("rewriter.partial_dat", "rewriter.partial_data"),
    ],
)
def test_a_misspelled_setting_is_an_error_with_a_suggestion(misspelled: str, suggestion: str) -> None:
    with pytest.raises(AnalysisError, match="There is no setting") as caught:
        SessionSettings().set(misspelled, "1")
    assert f"Did you mean {suggestion}?" in (caught.value.hint or "")


def test_variables_of_hive_have_a_hint_of_their_own() -> None:
    with pytest.raises(AnalysisError, match="There is no setting hivevar:day") as caught:
        SessionSettings().set("hivevar:day", "2024-01-01")
    assert "pass the value as a parameter" in (caught.value.hint or "")


def test_a_name_comes_before_a_prefix() -> None:
    settings = SessionSettings()
    assert settings.set("hive.optimize.unheard", "true") == "true"
    assert settings.set("hive.optimize.metadataonly", "false") == "false"
    with pytest.raises(NotSupportedError, match="may be out of date"):
        settings.set("hive.optimize.metadataonly", "true")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_all_settings_of_spark_and_hive_are_listed() -> None:
    spark_session = SparkSession.builder.getOrCreate()
    names = {row[0] for row in spark_session.sql("SET -v").collect()}
    jvm = spark_session._jvm  # type: ignore[attr-defined]
    variables = jvm.java.lang.Class.forName("org.apache.hadoop.hive.conf.HiveConf$ConfVars")
    field = variables.getField("varname")
    names |= {field.get(variable) for variable in variables.getEnumConstants()}
    listed = {name.lower() for name in engine_setting_names()} | _OWN
    missing = {name for name in names if name and name.lower() not in listed and engine_setting(name) is None}
    assert not missing
