"""Certificates of queries that name earlier states, honest and forged."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from rewriter.certificate.evidence import CatalogRecords, FindingKind, digest
from rewriter.session import Session
from rewriter.statements.query.certificates import check_certificate

# Every forgery runs each time.
pytestmark = pytest.mark.share(1)

Certificate = dict[str, Any]

WORLD = """
CREATE CUBE c (u STRING, n BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE days (u STRING, n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE months (u STRING, n BIGINT) PARTITIONED BY (m STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (dt),
  TABLE months PERIOD MONTHLY PARTITIONED BY at AS (m));
CREATE TABLE names (u STRING, name STRING);
INSERT INTO names VALUES ('a', 'first');
INSERT INTO days PARTITION (dt) MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
  VALUES ('a', 1, '2024-01-01'), ('b', 10, '2024-01-31');
CREATE VIEW sums AS SELECT u, n, at FROM c;
CREATE DATABASE o;
CREATE TABLE o.names AS SELECT 'a' AS u, 'other' AS name;
REFRESH FACT f
"""
MONTH = "at >= '2024-01-01' AND at < '2024-02-01'"


@dataclass
class World:
    """``old`` is the commit of a computed rollup, ``between`` a time before the commits behind it."""

    session: Session
    old: int
    between: str

    @property
    def texts(self) -> dict[str, str]:
        old, between = self.old, self.between
        return {
            "version": f"SELECT SUM(n) FROM c VERSION AS OF {old} WHERE {MONTH}",
            "quoted": f"SELECT SUM(x.n) FROM c FOR SYSTEM_VERSION AS OF '{old}' AS x WHERE {MONTH}",
            "time": f"SELECT u, SUM(n) FROM c TIMESTAMP AS OF '{between}' WHERE {MONTH} GROUP BY u",
            "system time": f"SELECT SUM(n) FROM c SYSTEM_TIME AS OF '{between}' WHERE {MONTH}",
            "now": f"SELECT SUM(n) FROM c TIMESTAMP AS OF current_timestamp() - INTERVAL 0 DAYS WHERE {MONTH}",
            "joined": f"SELECT names.name, SUM(c.n) FROM c VERSION AS OF {old} JOIN names VERSION AS OF {old} "
            f"ON c.u = names.u WHERE {MONTH} GROUP BY names.name",
            "copied": f"WITH q AS (SELECT u, n, at FROM c VERSION AS OF {old}) "
            f"SELECT SUM(n) FROM q WHERE {MONTH} UNION ALL SELECT SUM(n) FROM q WHERE {MONTH} AND u = 'a'",
            "beside": f"SELECT names.name, SUM(c.n) FROM c JOIN names VERSION AS OF {old} ON c.u = names.u "
            f"WHERE {MONTH} GROUP BY names.name",
            "beside a time": f"SELECT k.name, SUM(c.n) FROM c JOIN o.names TIMESTAMP AS OF '{between}' k ON c.u = k.u "
            f"WHERE {MONTH} GROUP BY k.name",
            "two": f"SELECT k.name, SUM(c.n) FROM c JOIN names VERSION AS OF {old} AS k ON c.u = k.u JOIN names AS l "
            f"ON c.u = l.u WHERE {MONTH} GROUP BY k.name",
            "view": f"SELECT names.name, SUM(sums.n) FROM sums JOIN names VERSION AS OF {old} ON sums.u = names.u "
            f"WHERE {MONTH} GROUP BY names.name",
        }

    def certificate(self, text: str, parameters: dict[str, object] | None = None) -> Certificate:
        result = self.session.execute(f"EXPLAIN CERTIFICATE {text}", parameters)
        certificate: Certificate = json.loads("\n".join(str(row[0]) for row in result.rows()))
        return certificate

    def findings(self, certificate: Certificate) -> list[str]:
        return [str(finding) for finding in check_certificate(certificate, self.session.catalog).findings]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Session(tmp_path_factory.mktemp("states") / "w", "duckdb") as session:
        list(session.script(WORLD))
        old = session.snapshot().sequence
        time.sleep(0.01)
        between = datetime.now(UTC).replace(tzinfo=None).isoformat(" ")
        time.sleep(0.01)
        session.execute("INSERT INTO days VALUES ('c', 100, '2024-01-05')")
        session.execute("INSERT INTO names VALUES ('b', 'second')")
        yield World(session, old, between)


NAMES = tuple(World(None, 1, "").texts)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_honest_certificates_have_the_clauses_and_are_accepted(world: World, name: str) -> None:
    text = world.texts[name]
    certificate = world.certificate(text)
    assert world.findings(certificate) == []
    assert (certificate["typed"] or certificate["query"]) == text
    assert "@" not in certificate["query"] + certificate["sql"]
    made, position = "", 0
    for start, end, replacement in certificate["edits"]:
        made += certificate["query"][position:start] + replacement
        position = end
    assert made + certificate["query"][position:] == certificate["sql"]
    for state in certificate["states"]:
        assert re.search(r" AS OF ", text[state["start"] : state["end"]])
        assert state["commit"] == (certificate["newest_commit"] if name == "now" else world.old)
    newest = world.session.snapshot().sequence
    is_whole = name in ("version", "quoted", "time", "system time", "joined", "copied")
    assert (certificate["newest_commit"], certificate["commit"]) == (newest, world.old if is_whole else newest)


@pytest.mark.parametrize("name", NAMES)
def test_results_have_the_certificate_of_what_they_read(world: World, name: str) -> None:
    world.session.execute("SET rewriter.verify = certificate")
    try:
        result = world.session.execute(world.texts[name])
        assert result.stats is not None
        assert result.stats.verification is not None
        assert result.stats.verification.is_accepted
        assert result.certify is not None
        assert world.findings(dict(result.certify())) == []
    finally:
        world.session.execute("RESET rewriter.verify")
    result = world.session.execute(world.texts[name])
    assert result.certify is not None
    assert world.findings(dict(result.certify())) == []


def test_parameters(world: World) -> None:
    text = f"SELECT SUM(n) FROM c VERSION AS OF :commit WHERE {MONTH} AND u <> :u"
    certificate = world.certificate(text, {"commit": world.old, "u": "x"})
    assert world.findings(certificate) == []
    certificate["parameters"]["commit"] = str(world.old - 1)
    assert "means commit" in world.findings(certificate)[0]
    text = f"SELECT SUM(c.n) FROM c JOIN names TIMESTAMP AS OF :at k ON c.u = k.u WHERE {MONTH}"
    certificate = world.certificate(text, {"at": datetime.fromisoformat(world.between)})
    assert world.findings(certificate) == []


def test_the_same_plan_under_another_clause_has_its_own_certificate(world: World) -> None:
    """Both texts have blanks of the same length in the place of the clause."""
    world.session.execute("SET rewriter.verify = certificate")
    for commit in (f"'{world.old}'", f"00{world.old}"):
        text = f"SELECT SUM(n) FROM c VERSION AS OF {commit} WHERE {MONTH}"
        verification = world.session.execute(text).stats.verification  # type: ignore[union-attr]
        assert verification is not None
        assert verification.certificate["query"] == text
    world.session.execute("RESET rewriter.verify")


def test_an_insert_of_several_states_is_checked(world: World) -> None:
    session = world.session
    session.execute("CREATE TEMPORARY TABLE made (name STRING, n BIGINT)")
    session.execute("SET rewriter.verify = certificate")
    result = session.execute(f"INSERT INTO made {world.texts['beside']}")
    session.execute("RESET rewriter.verify")
    assert session.execute("SELECT * FROM made").fetch() == [("first", 1)]
    assert result.stats is not None
    assert result.stats.verification is not None
    assert result.stats.verification.is_accepted


# -- Forgeries: each is a change of one honest certificate, and is refuted

Forgery = Callable[[Certificate, World], None]


def rewritten(certificate: Certificate) -> None:
    text, position = "", 0
    for start, end, replacement in certificate["edits"]:
        text += certificate["query"][position:start] + replacement
        position = end
    certificate["sql"] = text + certificate["query"][position:]


def another_commit(certificate: Certificate, world: World) -> None:
    certificate["states"][0]["commit"] -= 1


def a_later_commit(certificate: Certificate, world: World) -> None:
    certificate["states"][0]["commit"] += 1


def a_commit_that_is_not_there(certificate: Certificate, world: World) -> None:
    certificate["states"][0]["commit"] = certificate["newest_commit"] + 100


def no_state(certificate: Certificate, world: World) -> None:
    certificate["states"].pop()


def no_states(certificate: Certificate, world: World) -> None:
    del certificate["states"]


def state_elsewhere(certificate: Certificate, world: World) -> None:
    state = certificate["states"][0]
    state["start"], state["end"] = state["start"] - 2, state["end"] - 2


def state_of_other_words(certificate: Certificate, world: World) -> None:
    """The condition on time is blanked out as if it were a clause."""
    text = certificate["typed"] or certificate["query"]
    start = text.index("WHERE")
    certificate["states"].append({"start": start, "end": start + len(f"WHERE {MONTH}"), "commit": world.old})


def all_at_the_newest_commit(certificate: Certificate, world: World) -> None:
    certificate["commit"] = certificate["newest_commit"]


def all_at_another_commit(certificate: Certificate, world: World) -> None:
    certificate["commit"] -= 1


def newest_commit_of_the_future(certificate: Certificate, world: World) -> None:
    certificate["newest_commit"] += 100
    certificate["commit"] = certificate["newest_commit"]


def piece_of_a_later_commit(certificate: Certificate, world: World) -> None:
    """The piece is the base, as the newest commit has it, with its counts and its digest."""
    records = CatalogRecords(world.session.catalog.database.select, certificate["newest_commit"])
    table = records.find("table", "days")
    assert table is not None
    seen = [record for record in records.versions(table) if record.is_seen(records.commit)]
    for reference in certificate["references"]:
        (piece,) = reference["pieces"]
        days = "dt >= '2024-01-01' AND dt <= '2024-01-31'"
        arm = f"SELECT u, n, to_timestamp(dt, 'yyyy-MM-dd') AS at FROM days WHERE {days}"
        piece |= {"table": "days", "period": "DAILY", "periods": 31, "partitions": 31, "rests_on": [{"kind": "base"}]}
        piece |= {"rows": sum(record.rows or 0 for record in seen), "digest": digest(seen)}
        edit = next(edit for edit in certificate["edits"] if edit[0] == reference["start"])
        edit[2] = f"({arm}){edit[2].rpartition(')')[2]}"
    rewritten(certificate)


def executed_at_another_commit(certificate: Certificate, world: World) -> None:
    certificate["edits"] = [
        [start, end, text.replace(f"VERSION AS OF {world.old}", f"VERSION AS OF {world.old - 1}")]
        for start, end, text in certificate["edits"]
    ]
    rewritten(certificate)


def executed_at_the_newest_commit(certificate: Certificate, world: World) -> None:
    certificate["edits"] = [
        [start, end, text.replace(f" VERSION AS OF {world.old}", "")] for start, end, text in certificate["edits"]
    ]
    rewritten(certificate)


def clause_of_another_time(certificate: Certificate, world: World) -> None:
    key = "query" if certificate["typed"] is None else "typed"
    certificate[key] = certificate[key].replace(world.between, datetime(2100, 1, 1).isoformat(" ", "microseconds"))


def clause_of_another_number(certificate: Certificate, world: World) -> None:
    key = "query" if certificate["typed"] is None else "typed"
    certificate[key] = certificate[key].replace(f"AS OF {world.old}", f"AS OF {world.old - 1}")


def clause_dropped(certificate: Certificate, world: World) -> None:
    """A name without a clause is read at the newest commit, and this one is said to be read at another."""
    key, state = "query" if certificate["typed"] is None else "typed", certificate["states"].pop()
    text = certificate[key]
    certificate[key] = text[: state["start"]] + " " * (state["end"] - state["start"]) + text[state["end"] :]
    rewritten(certificate)


WHOLE, TIMED = ("version", "quoted", "time", "joined", "copied"), ("time", "system time", "beside a time")
BESIDE = ("beside", "beside a time", "two")
FORGERIES: dict[Forgery, tuple[str, ...]] = {
    another_commit: NAMES,
    a_later_commit: tuple(name for name in NAMES if name != "now"),
    a_commit_that_is_not_there: NAMES,
    no_state: NAMES,
    no_states: NAMES,
    state_elsewhere: NAMES,
    state_of_other_words: NAMES,
    all_at_the_newest_commit: WHOLE,
    all_at_another_commit: WHOLE,
    newest_commit_of_the_future: BESIDE,
    piece_of_a_later_commit: WHOLE,
    clause_of_another_time: TIMED,
    clause_of_another_number: ("version", "joined", "beside", "two", "view"),
    clause_dropped: ("joined",),
}
#: The executed text is compared word by word: a difference is none that the checker knows.
DIFFERENCES: dict[Forgery, tuple[str, ...]] = {
    executed_at_another_commit: BESIDE,
    executed_at_the_newest_commit: BESIDE,
}


@pytest.mark.parametrize(("forge", "name"), [(forge, name) for forge, names in FORGERIES.items() for name in names])
def test_forgeries_are_refuted(world: World, forge: Forgery, name: str) -> None:
    certificate = world.certificate(world.texts[name])
    forged = copy.deepcopy(certificate)
    forge(forged, world)
    assert forged != certificate
    verdict = check_certificate(forged, world.session.catalog)
    assert verdict.is_refuted, verdict.findings


@pytest.mark.parametrize(("forge", "name"), [(forge, name) for forge, names in DIFFERENCES.items() for name in names])
def test_other_executed_texts_are_not_accepted(world: World, forge: Forgery, name: str) -> None:
    forged = world.certificate(world.texts[name])
    forge(forged, world)
    verdict = check_certificate(forged, world.session.catalog)
    assert not verdict.is_accepted


def test_a_time_whose_commits_are_gone_is_out_of_sight(world: World) -> None:
    certificate = world.certificate(world.texts["time"])

    def rows(sql: str, values: Any) -> Any:
        return [(0,)] if "COUNT(*) FROM transactions" in sql else world.session.catalog.database.select(sql, values)

    from rewriter.certificate.law import check

    (finding,) = check(certificate, rows).findings
    assert finding.kind is FindingKind.OUT_OF_SIGHT
