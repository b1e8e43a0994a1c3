"""Plans that would return another result than their query: the union of one query stands under the text of another.

``{C}`` is the cube, in whose place the union stands; ``«old|new»`` is an edit of the text. None may be accepted.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rewriter.certificate.evidence import FindingKind
from rewriter.session import Session
from rewriter.statements.query.certificates import check_certificate

_COLUMNS = "carrier STRING, k BIGINT, flights BIGINT, distance BIGINT, delayed BIGINT, delay DOUBLE, worst DOUBLE"
WORLD = f"""
CREATE CUBE flights (carrier STRING, k BIGINT, flights BIGINT MEASURE COUNT NOT NULL, distance BIGINT MEASURE SUM,
  delayed BIGINT MEASURE COUNT, delay DOUBLE MEASURE SUM COUNTED BY delayed, worst DOUBLE MEASURE MAX,
  departed TIMESTAMP TIME);
CREATE TABLE hours ({_COLUMNS}) PARTITIONED BY (dt STRING);
CREATE TABLE days ({_COLUMNS}) PARTITIONED BY (ds DATE);
CREATE TABLE months ({_COLUMNS}) PARTITIONED BY (y INT, m INT);
CREATE FACT f OF CUBE flights STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt),
  TABLE days PERIOD DAILY PARTITIONED BY departed AS (ds),
  TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (y = 'yyyy', m = 'MM'));
INSERT INTO hours MARK COMPLETE FROM '2013-01-01' TO '2013-03-02'
  VALUES ('UA', 1, 2, 900, 1, 3.5, 3.5, '2013-01-15-08'), ('AA', 1, 1, 300, 1, 1.5, 1.5, '2013-02-01-09');
REFRESH FACT f;
CREATE TABLE names (carrier STRING, name STRING, distance BIGINT, flights BIGINT, departed TIMESTAMP, rw_flights INT);
CREATE TABLE codes (code STRING, w BIGINT)
"""
M = "departed >= '2013-01-01' AND departed < '2013-03-01'"
#: Rows without most columns.
_FEW = f"SELECT carrier, distance, departed FROM flights WHERE {M}"
_M_OF_F = "f.departed >= '2013-01-01' AND f.departed < '2013-03-01'"
OF_CUBE = f"FROM {{C}} WHERE {M}"
FEBRUARY = "departed >= '2013-02-01' AND departed < '2013-03-01'"
SUMS = f"SELECT carrier, SUM(distance) FROM flights WHERE {M} GROUP BY carrier"
ROWS = f"SELECT carrier, distance, flights, departed FROM flights WHERE {M}"
#: Its union has NULL for the carrier and the flights, which nobody reads.
PART = f"SELECT SUM(distance) FROM (SELECT carrier, k, distance, flights FROM flights WHERE {M}) v"
OF_PART = f"FROM (SELECT carrier, k, distance, flights {OF_CUBE}) v"
FEBRUARY_SUMS = f"SELECT carrier, SUM(distance) FROM flights WHERE {FEBRUARY} GROUP BY carrier"
_TOKEN = re.compile(r"\{C\}|«(.*?)\|(.*?)»", re.DOTALL)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("forged") / "w", engine="duckdb") as opened:
        list(opened.script(WORLD))
        yield opened


def forged(session: Session, plan: str, template: str, **members: Any) -> dict[str, Any]:
    """Returns the certificate of a plan under another text."""
    rows = session.execute(f"EXPLAIN CERTIFICATE {plan}").rows()
    stated: dict[str, Any] = json.loads("\n".join(str(row[0]) for row in rows))
    (reference,) = stated["references"]
    union = next(text for start, _, text in stated["edits"] if start == reference["start"])
    query, executed, position = "", "", 0
    stated["edits"], stated["references"] = [], []
    for token in _TOKEN.finditer(template):
        between, position = template[position : token.start()], token.end()
        query, executed = query + between, executed + between
        old, new = ("flights", union) if token[0] == "{C}" else (token[1], token[2])
        if token[0] == "{C}" and re.match(r" [a-z]\b", template[position:]):
            new = new.removesuffix(" AS flights")  # The template gives the name.
        stated["edits"].append([len(query), len(query) + len(old), new])
        if token[0] == "{C}":
            stated["references"].append({**copy.deepcopy(reference), "start": len(query)})
        query, executed = query + old, executed + new
    stated["query"], stated["sql"] = query + template[position:], executed + template[position:]
    return stated | members


@pytest.mark.parametrize(
    ("plan", "template"),
    [
        (SUMS, f"SELECT DISTINCT * {OF_CUBE}"),
        (SUMS, f"SELECT COUNT(DISTINCT *) {OF_CUBE}"),
        (SUMS, "SELECT n.name FROM names n WHERE length(name) IN (SELECT row_number() OVER (ORDER BY carrier) "
               f"{OF_CUBE})"),
        (SUMS, f"SELECT DISTINCT carrier, rank() OVER (ORDER BY carrier) {OF_CUBE}"),
        (SUMS, "SELECT SUM(f.distance) FROM {C} f JOIN codes c ON c.code = f.carrier AND f.departed >= '2013-01-16' "
               f"WHERE {M}"),
        (SUMS, "SELECT c.code FROM codes c LEFT SEMI JOIN {C} ON c.code = flights.carrier AND flights.departed >= "
               f"'2013-01-16' AND flights.{M.replace('AND departed', 'AND flights.departed')}"),
        (SUMS, f"SELECT SUM(x) FROM (SELECT distance x, departed t {OF_CUBE}) v WHERE t >= '2013-01-16'"),
        (SUMS, f"SELECT n.name FROM names n LEFT SEMI JOIN {{C}} USING (distance) WHERE {M}"),
        (SUMS, f"SELECT n.name FROM names n WHERE (SELECT carrier {OF_CUBE}) IN ('UA')"),
        (SUMS, f"SELECT carrier, k AS flights {OF_CUBE} GROUP BY carrier, k ORDER BY "
               "«COUNT(*)|COALESCE(SUM(flights), 0)» LIMIT 1"),
        (SUMS, f"SELECT SUM(distance) {OF_CUBE} AND carrier IN (SELECT name FROM names WHERE randn() > 0)"),
        (SUMS, f"SELECT SUM(distance) {OF_CUBE} AND carrier IN (SELECT name FROM names WHERE uuid() > name)"),
        (ROWS, f"SELECT distance FROM {{C}} WHERE NOT (departed IS NOT NULL) AND {M.replace('AND', 'OR')}"),
        (FEBRUARY_SUMS, "WITH v(d, departed) AS (SELECT date_trunc('MONTH', departed) AS departed, TIMESTAMP "
                        f"'2014-01-01' x {OF_CUBE} GROUP BY 1) SELECT COUNT(d) FROM v WHERE departed >= '2013-02-01'"),
        (FEBRUARY_SUMS, f"SELECT SUM(distance) {OF_CUBE} AND substr(date_format(departed, 'yyyy-MM'), -2, 2) = "
                        "'02'"),
        (SUMS, f"SELECT SUM(x) FROM (SELECT distance x, explode(sequence(1, distance)) y {OF_CUBE}) v"),
        (ROWS, f"SELECT SUM(x) FROM (SELECT distance AS x, «1|explode(array(1, 2))» AS y {OF_CUBE}) v"),
        (ROWS, f"SELECT SUM(distance) FROM (SELECT «*|* REPLACE (flights AS distance)» {OF_CUBE}) v"),
        (SUMS, f"SELECT SUM(distance) FROM (SELECT carrier c {OF_CUBE}) v JOIN names n ON n.carrier = v.c"),
        (ROWS, f"SELECT x, o FROM (SELECT distance AS x, 2 AS o {OF_CUBE}) v ORDER BY «2|o» DESC LIMIT 1"),
        (ROWS, f"SELECT COUNT(*) {OF_CUBE}"),
        (ROWS, f"SELECT COUNT(*) FROM (SELECT carrier {OF_CUBE}) v"),
        (SUMS, "SELECT «COUNT(*)|COALESCE(SUM(flights), 0)» FROM (SELECT carrier, SUM(flights) AS flights FROM {C} "
               f"WHERE {M} GROUP BY carrier) v"),
        (SUMS, "SELECT «COUNT(*)|COALESCE(SUM(n.flights), 0)» FROM {C} f JOIN names n ON n.carrier = f.carrier WHERE "
               "f.departed >= '2013-01-01' AND f.departed < '2013-03-01'"),
        (ROWS, "SELECT SUM(flights) FROM (SELECT DISTINCT «distance|distance AS flights», «flights|flights AS "
               f"distance» {OF_CUBE}) v"),
        (ROWS, f"SELECT -distance«| AS distance» {OF_CUBE} ORDER BY distance LIMIT 1"),
        (ROWS, f"SELECT distance {OF_CUBE} AND EXISTS (SELECT 1 FROM names n WHERE flights.carrier = "
               "«n.carrier|carrier»)"),
        (f"SELECT SUM(distance) FROM flights WHERE {M}",
         f"SELECT n.name FROM names n WHERE EXISTS (SELECT 1 {OF_CUBE} AND carrier = n.carrier)"),
        (ROWS, f"SELECT c.w, f.distance FROM ({{C}}« CROSS JOIN codes c|») f WHERE {M}"),
        (ROWS, f"SELECT distance, carrier {OF_CUBE} ORDER BY «2|1 + 1» DESC LIMIT 1"),
        (ROWS, "SELECT to_date(«departed|CASE WHEN hour(departed) = 9 THEN TIMESTAMP '1999-01-01 00:00:00' ELSE "
               f"departed END») {OF_CUBE}"),
        (ROWS, f"SELECT date_format(departed, «'yyyy-MM-dd'|'YYYY-MM-dd'») {OF_CUBE}"),
        (PART, f"SELECT carrier, SUM(distance) {OF_PART} GROUP BY carrier"),
        (PART, f"SELECT SUM(distance) {OF_PART} HAVING MAX(v.carrier) > 'A'"),
        (PART, f"SELECT SUM(distance) {OF_PART} WHERE carrier = 'UA'"),
        (PART, f"SELECT DISTINCT * {OF_PART}"),
        (PART, f"SELECT COUNT(DISTINCT v.*) {OF_PART}"),
        (PART, f"SELECT «COUNT(*)|COALESCE(SUM(flights), 0)» {OF_PART}"),
        (PART, f"SELECT SUM(distance) {OF_PART} JOIN codes USING (k)"),
        (PART, f"SELECT SUM(v.distance) {OF_PART} NATURAL JOIN names n"),
        (PART, f"SELECT SUM(distance) {OF_PART} WHERE EXISTS (SELECT 1 FROM codes c WHERE c.code = v.carrier)"),
        (PART, f"SELECT SUM(distance) {OF_PART} WHERE EXISTS (SELECT 1 FROM codes c WHERE c.code = carrier)"),
        (PART, f"SELECT SUM(distance) {OF_PART} LATERAL VIEW explode(array(carrier)) e AS z WHERE z = 'UA'"),
        (PART, f"SELECT SUM(distance) FROM (SELECT carrier, distance FROM {{C}} WHERE {M} AND k = 1) v"),
        (PART, "SELECT SUM(distance) FROM (SELECT distance, u FROM (SELECT upper(carrier) AS u, distance "
               f"{OF_CUBE}) i) v WHERE u = 'UA'"),
        (PART, f"SELECT SUM(distance), IDENTIFIER('carrier') {OF_PART} GROUP BY ALL"),
        (FEBRUARY_SUMS, f"SELECT SUM(distance) {OF_CUBE} -- \\\nAND departed >= '2013-02-01'"),
        (SUMS, "SELECT n.name, «COUNT(*)|COALESCE(SUM(f.flights), 0)» FROM names n LEFT JOIN {C} f ON n.carrier = "
               f"f.carrier AND {_M_OF_F} GROUP BY n.name"),
        (SUMS, "SELECT n.name, «COUNT(*)|COALESCE(SUM(f.flights), 0)» FROM {C} f RIGHT JOIN names n ON n.carrier = "
               f"f.carrier AND {_M_OF_F} GROUP BY n.name"),
        (SUMS, "SELECT n.name, «COUNT(n.name)|COALESCE(SUM(CASE WHEN (n.name) IS NOT NULL THEN f.flights END), 0)» "
               f"FROM {{C}} f FULL JOIN names n ON n.carrier = f.carrier WHERE {_M_OF_F} GROUP BY n.name"),
        (SUMS, f"SELECT SUM(f.distance) FROM {{C}} f JOIN names n USING (flights) WHERE {_M_OF_F}"),
        (SUMS, f"SELECT SUM(f.distance) FROM {{C}} f JOIN names n USING (carrier, departed) WHERE {_M_OF_F}"),
        (SUMS, "SELECT SUM(f.distance) FROM {C} f LEFT ANTI JOIN names n ON n.distance = f.distance WHERE "
               f"{_M_OF_F}"),
        (SUMS, f"SELECT SUM(f.distance) FROM {{C}} f LEFT SEMI JOIN names n USING (distance) WHERE {_M_OF_F}"),
        (SUMS, f"SELECT SUM(n.w) FROM {{C}} f JOIN (SELECT w FROM codes) n ON n.w > 1 WHERE {_M_OF_F}"),
        (SUMS, f"SELECT carrier, SUM(distance) OVER (ORDER BY carrier) {OF_CUBE}"),
        (SUMS, f"SELECT carrier, COUNT(*) OVER () {OF_CUBE}"),
        (SUMS, f"SELECT carrier, SUM(distance) OVER () {OF_CUBE} GROUP BY carrier, distance"),
        (SUMS, f"SELECT carrier, COUNT_IF(carrier = 'UA') {OF_CUBE} GROUP BY carrier"),
        (SUMS, "SELECT «COUNT_IF(carrier = 'UA')|COALESCE(SUM(CASE WHEN (carrier = 'AA') THEN flights END), 0)» "
               f"{OF_CUBE}"),
        (SUMS, "SELECT «COUNT_IF(carrier = 'UA')|COALESCE(SUM(CASE WHEN (carrier = 'UA') IS NOT NULL THEN flights "
               f"END), 0)» {OF_CUBE}"),
        (SUMS, f"SELECT «COUNT(carrier)|COALESCE(SUM(CASE WHEN (carrier) THEN flights END), 0)» {OF_CUBE}"),
        (SUMS, f"SELECT SUM(CASE distance WHEN 900 THEN flights END) {OF_CUBE}"),
        (SUMS, f"SELECT carrier, LAG(distance) OVER (ORDER BY carrier) {OF_CUBE} GROUP BY carrier, distance"),
        # The union has not all columns of *, or has them in another order.
        (_FEW, f"SELECT COUNT(DISTINCT *) {OF_CUBE}"),
        (_FEW, f"SELECT * {OF_CUBE}"),
        (_FEW, f"SELECT flights.* {OF_CUBE}"),
        (_FEW, f"SELECT * EXCEPT (departed) {OF_CUBE}"),
        (_FEW, f"SELECT v.* FROM (SELECT * {OF_CUBE}) v"),
        # The column that an edit inserts is one of a joined table, or none of the union.
        (_FEW, f"SELECT «COUNT(*)|COALESCE(SUM(w), 0)» {OF_CUBE}"),
        (SUMS, "SELECT «COUNT(*)|COALESCE(SUM(flights), 0)» FROM {C} f JOIN names n ON n.carrier = f.carrier WHERE "
               f"{_M_OF_F}"),
        (SUMS, "SELECT «COUNT(*)|COALESCE(SUM(f.flights), 0)» FROM {C} f JOIN names n ON n.carrier = f.carrier WHERE "
               f"{_M_OF_F}"),
        (SUMS, "SELECT «COUNT(*)|COALESCE(SUM(f.rw_events), 0)» FROM {C} f LEFT JOIN names n ON n.carrier = f.carrier "
               f"WHERE {_M_OF_F}"),
        (SUMS, "SELECT n.carrier, «COUNT(*)|COALESCE(SUM(COALESCE(rw_events, 1)), 0)» FROM names n LEFT JOIN {C} f ON "
               f"n.carrier = f.carrier AND {_M_OF_F} GROUP BY n.carrier"),
        (f"SELECT SUM(delay), SUM(delayed) FROM flights WHERE {M}",
         "SELECT «AVG(f.delay)|(SUM(f.delay) / NULLIF(SUM(delayed), 0))» FROM {C} f JOIN codes c ON c.code = f.carrier "
         f"WHERE {_M_OF_F}"),
        # COUNT of values over base rows that hold several events each.
        (ROWS, f"SELECT COUNT(carrier) {OF_CUBE}"),
        (ROWS, f"SELECT COUNT(departed) {OF_CUBE}"),
        (ROWS, f"SELECT COUNT(1 + 1) {OF_CUBE}"),
        (ROWS, f"SELECT COUNT(carrier) FILTER (WHERE carrier = 'UA') {OF_CUBE}"),
        # Arguments of functions.
        (FEBRUARY_SUMS, "SELECT SUM(distance) FROM {C} WHERE to_date(departed) >= to_date('2013-02-01', 'yyyy-dd-MM') "
                        "AND departed < '2013-03-01'"),
        (FEBRUARY_SUMS, "SELECT SUM(distance) FROM {C} WHERE departed >= make_timestamp(2013, 2, 1, 0, 0, 0, "
                        "'Asia/Tokyo') AND departed < '2013-03-01'"),
        # Names that ORDER BY or a query around means.
        (SUMS, f"SELECT SUM(distance) «|AS carrier » {OF_CUBE} GROUP BY carrier ORDER BY carrier LIMIT 1"),
        (SUMS, f"SELECT SUM(distance)«| as carrier» {OF_CUBE} GROUP BY carrier ORDER BY carrier LIMIT 1"),
        (SUMS, f"SELECT SUM(distance) «|carrier» {OF_CUBE} GROUP BY carrier ORDER BY carrier LIMIT 1"),
        (SUMS, f"SELECT MAX(concat(carrier, 'k'))«| AS k» {OF_CUBE} GROUP BY k ORDER BY k LIMIT 1"),
        (SUMS, "SELECT c.code FROM codes c WHERE EXISTS (SELECT 1 FROM (SELECT MAX(length(concat(carrier, 'w')))«| AS "
               f"w» {OF_CUBE} GROUP BY carrier) v WHERE w = 4)"),
    ],
)  # fmt: skip
def test_a_forged_plan_is_not_accepted(session: Session, plan: str, template: str) -> None:
    assert check_certificate(forged(session, plan, template), session.catalog).findings


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("AND m <= 2", "AND m <= 1 OR y = 2012"),
        ("AND m <= 2", "AND m <= 2 AND carrier = 'UA'"),
        ("AND m <= 2", "AND m <= 2 AND 'a' = 'a"),
        ("AND m <= 2", "AND m <= 2) UNION ALL (SELECT carrier, distance, departed FROM names"),
        ("AND m <= 2", "AND m <= 2 GROUP BY carrier"),
        ("AND m <= 2", "AND m <= 2 UNION SELECT carrier, distance, departed FROM names"),
        ("AND m <= 2", "AND m <= 2) AS flights JOIN (SELECT 1 AS w"),
        ("AND m <= 2", "AND m <= 2 -- "),
        ("AND m <= 2", "AND m <= 2 AND m"),
        ("AND m <= 2", "AND m <= '2"),
        ("AND m <= 2", "AND m < 2"),
        ("AND m <= 2", "AND NOT = 2"),
        ("AND m <= 2", "AND m <= '2_0'"),
        ("AND m <= 2", "AND m <= '２'"),
        ("AND m <= 2", "AND m <> DATE '2013-01-01'"),
        ("AND m <= 2", "AND m <= 1L"),
        ("AND m <= 2", "AND m IN (1)"),
        ("SELECT ", "SELECT DISTINCT "),
        ("(SELECT ", "(SELECT rw_pieces_35, "),
    ],
)
def test_a_union_of_other_rows_is_not_accepted(session: Session, old: str, new: str) -> None:
    stated = forged(session, SUMS, SUMS.replace("flights", "{C}", 1))
    assert not check_certificate(stated, session.catalog).findings
    text = next(text for start, _, text in stated["edits"] if start == stated["references"][0]["start"])
    assert old in text, text
    forged_text = text.replace(old, new, 1)
    stated["edits"] = [[start, end, forged_text if made == text else made] for start, end, made in stated["edits"]]
    stated["sql"] = stated["sql"].replace(text, forged_text)
    assert check_certificate(stated, session.catalog).findings


def test_an_end_of_what_is_stored_closes_no_bounded_range(session: Session) -> None:
    template = "SELECT SUM(distance) FROM {C} WHERE departed >= '2013-01-01' AND departed < '2014-01-01'"
    stated = forged(session, f"SELECT SUM(distance) FROM flights WHERE {M}", template)
    stated["references"][0]["open_end"] = {"at": "2013-03-01T00:00:00Z", "reason": "end of what is stored"}
    assert check_certificate(stated, session.catalog).findings


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT SUM(CASE WHEN departed < '2013-02-01' THEN distance END) FROM flights WHERE {M}",
        f"SELECT SUM(distance) FILTER (WHERE departed < '2013-02-01') FROM flights WHERE {M}",
        f"SELECT departed >= '2013-02-01', SUM(distance) FROM flights WHERE {M} GROUP BY departed >= '2013-02-01'",
        f"SELECT n.name, (SELECT SUM(distance) FROM flights WHERE {M} AND carrier = n.carrier AND n.distance > 7) FROM "
        "names n",
        f"SELECT distance FROM flights WHERE {M} AND NOT (departed IS NOT NULL)",
        f"SELECT MAX(carrier) FROM flights WHERE {M} AND departed <> '2013-02-01 09:00'",
    ],
)
def test_no_plan_of_the_product_is_refuted(session: Session, query: str) -> None:
    rows = session.execute(f"EXPLAIN CERTIFICATE {query}").rows()
    stated = json.loads("\n".join(str(row[0]) for row in rows))
    findings = check_certificate(stated, session.catalog).findings
    assert FindingKind.REFUTED not in {finding.kind for finding in findings}, findings


@pytest.mark.parametrize("references", [[1], [None], "abc", {"cube": "flights"}, 5, [], [{}], [{"start": []}]])
def test_a_certificate_of_any_content_gets_a_verdict(session: Session, references: object) -> None:
    stated = forged(session, SUMS, f"SELECT SUM(distance) {OF_CUBE}", references=references)
    assert check_certificate(stated, session.catalog).findings
    assert check_certificate([stated], session.catalog).findings  # type: ignore[arg-type]
    for condition in (
        "departed > TIMESTAMP '2013-01-01' + INTERVAL 99999999999 DAY",
        "departed > make_date(10000000000, 1, 1)",
    ):
        stated = forged(session, SUMS, f"SELECT SUM(distance) {OF_CUBE} AND {condition}")
        assert check_certificate(stated, session.catalog).findings
