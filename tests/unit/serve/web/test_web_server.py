"""The web server: who may read, what broken and hostile clients meet, and what a browser shows."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from browser import Watched

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import CreateObject, RejectPartitions
from rewriter.catalog.model.proofs import BY_COMPARISON
from rewriter.catalog.store import migrations
from rewriter.cli.connection import connection
from rewriter.display.html.coverage_picture import calendar_data
from rewriter.display.terminal.rendering import text_of
from rewriter.errors import OperationalError
from rewriter.planner.cover.fact_coverage import Gap, Readable, Readiness
from rewriter.serve import server, views
from rewriter.serve.server import WebServer
from rewriter.session import Session
from rewriter.timeline.calendars import calendar_of
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import resolve_bound

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN STORAGE s (
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'));
ALTER TABLE hours ADD PARTITION (dt='2015-01-01-00') PARTITION (dt='2015-01-01-01') PARTITION (dt='2015-01-01-03');
ALTER TABLE days ADD PARTITION (dt='2015-01-02')
"""
RETAINED = """
CREATE TABLE visits (n BIGINT) PARTITIONED BY (day DATE);
CREATE CUBE visited (n BIGINT MEASURE COUNT, t TIMESTAMP TIME);
CREATE FACT visits_all OF CUBE visited
STORED IN (TABLE visits PERIOD DAILY PARTITIONED BY t AS (day) RETAIN 2 MONTHS) ROLLUPS (MONTHLY);
INSERT INTO visits MARK COMPLETE FROM '2012-01-01' TO '2012-02-10'
VALUES (4, DATE '2012-01-31'), (5, DATE '2012-02-05');
MAINTAIN FACT visits_all
"""
QUERY = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2015-01-01', '2015-01-01T02')"
EVIL = "<script>alert(1)</script>\x1b[31m\u202e🙂'\""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb") as opened:
        list(opened.script(SETUP))
        yield opened


@pytest.fixture
def web(session: Session, tmp_path: Path) -> Iterator[WebServer]:
    served = WebServer(lambda: Session(tmp_path / "w", "duckdb"), EVIL)
    served.start()
    yield served
    served.stop()


def address(web: WebServer) -> tuple[str, int, str]:
    """Returns the host, the port and the token."""
    _, _, place, token, _ = web.url.split("/")
    host, _, port = place.rpartition(":")
    return host, int(port), token


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    web: WebServer, path: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None
) -> Answer:
    """Sends a request; ``path`` is below the token, or absolute."""
    host, port, token = address(web)
    connection = http.client.HTTPConnection(host, port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path if path.startswith("/") else f"/{token}/{path}", body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def raw(web: WebServer, data: bytes, *, end: bool = True) -> bytes:
    """Sends bytes and returns all that comes back."""
    host, port, token = address(web)
    with socket.create_connection((host, port), timeout=30) as client:
        client.sendall(data.replace(b"TOKEN", token.encode()).replace(b"PORT", str(port).encode()))
        if end:
            client.shutdown(socket.SHUT_WR)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(65536):
                parts.append(part)
        return b"".join(parts)


def post(web: WebServer, sql: object, wanted: dict[str, object] | None = None, **headers: str) -> Answer:
    """Posts a query; ``wanted`` is ``run`` and ``partial``."""
    token = address(web)[2]
    all_headers = {"Content-Type": "application/json", "X-Rewriter-Token": token, **headers}
    return ask(web, "data/query", "POST", json.dumps({"sql": sql, **(wanted or {})}).encode(), all_headers)


RUN: dict[str, object] = {"run": True}


class TestWhoMayRead:
    @pytest.mark.parametrize("path", ["", "fact?name=f", "query"])
    def test_pages_have_strict_headers(self, web: WebServer, path: str) -> None:
        answer = ask(web, path)
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert "server" not in answer.headers
        assert "set-cookie" not in answer.headers
        page = answer.body.decode()
        assert "default-src 'none'; script-src 'sha256-" in page
        assert "<script>alert" not in page
        assert address(web)[2] not in page
        head = ask(web, path, "HEAD")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == answer.headers["content-length"]

    def test_without_the_token_nothing_is_read(self, web: WebServer) -> None:
        token = address(web)[2]
        assert len(token) >= 32
        wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
        for path in ("/", f"/{wrong}/", f"/{wrong}/data/facts", f"/?token={token}", "/data/facts", "*"):
            for method in ("GET", "HEAD", "POST"):
                assert ask(web, path if path != "*" else "/*", method).status == 403, (method, path)
        assert post(web, QUERY, **{"X-Rewriter-Token": wrong}).status == 403
        for place in (b"/TOKEN\xc3\xa9/", b"/TOKEN\xff/", b"/%00/"):
            assert raw(web, b"GET " + place + b" HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n").startswith(b"HTTP/1.0 403")

    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("127.0.0.1:PORT", 200),
            ("localhost:PORT", 200),
            ("LOCALHOST:PORT", 200),
            ("[::1]:PORT", 200),
            ("127.0.0.1", 421),
            ("127.0.0.1:1", 421),
            ("evil.example:PORT", 421),
            ("127.0.0.1.evil.example:PORT", 421),
            ("", 421),
            ("127.0.0.1:PORT\r\nHost: evil.example", 421),
            ("evil.example\r\nHost: 127.0.0.1:PORT", 421),
        ],
    )
    def test_the_host_must_be_the_servers(self, web: WebServer, host: str, status: int) -> None:
        answer = raw(web, f"GET /TOKEN/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert answer.startswith(f"HTTP/1.0 {status} ".encode())

    def test_a_request_without_a_host(self, web: WebServer) -> None:
        assert raw(web, b"GET /TOKEN/ HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 421 ")
        assert raw(web, b"GET /TOKEN/ HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 421 ")
        assert b"<title>" not in raw(web, b"GET /TOKEN/\r\n\r\n")

    def test_all_addresses_have_no_other_names(self, session: Session, tmp_path: Path) -> None:
        served = WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w", "0.0.0.0")
        served.start()
        try:
            assert not served.is_local
            for host, status in (("10.1.2.3:PORT", 200), ("localhost:PORT", 200), ("evil.example:PORT", 421)):
                sent = f"GET /TOKEN/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
                assert raw(served, sent).startswith(f"HTTP/1.0 {status} ".encode())
        finally:
            served.stop()

    def test_an_address_of_ipv6(self, session: Session, tmp_path: Path) -> None:
        if not socket.has_ipv6:
            pytest.skip("there is no IPv6")
        try:
            served = WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w", "::1")
        except OperationalError:
            pytest.skip("there is no ::1")
        served.start()
        try:
            port = int(served.url.split("]:")[1].split("/")[0])
            assert served.is_local
            for host, status in ((f"[::1]:{port}", 200), (f"::1:{port}", 421), (f"[::2]:{port}", 421)):
                with socket.create_connection(("::1", port), timeout=30) as client:
                    token = served.url.split("/")[3]
                    client.sendall(f"GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    assert client.recv(12).decode() == f"HTTP/1.0 {status}"
        finally:
            served.stop()


class TestAnswers:
    def test_the_address_without_its_last_slash(self, web: WebServer) -> None:
        token = address(web)[2]
        answer = ask(web, f"/{token}")
        assert (answer.status, answer.headers["location"]) == (307, f"/{token}/")
        assert ask(web, "/" + token[:-1]).status == 403

    def test_refusals_are_json(self, web: WebServer) -> None:
        for path, method in (("nope", "GET"), ("", "DELETE"), ("", "POST"), ("/wrong/", "GET")):
            answer = ask(web, path, method)
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()["error"]

    def test_errors_of_opening_are_ours(self, session: Session, tmp_path: Path) -> None:
        opened = iter([lambda: Session(tmp_path / "w", "duckdb")])

        def open_session() -> Session:
            try:
                return next(opened)()
            except StopIteration:
                raise PermissionError("closed") from None

        served = WebServer(open_session, "w")
        served.start()
        try:
            assert ask(served, "data/facts").status == 200
            answer = post(served, QUERY)
            assert answer.status in (422, 503)
            assert answer.json()["error"].startswith("Error: ")
        finally:
            served.stop()


class TestHostileClients:
    def test_no_path_leads_to_files(self, web: WebServer) -> None:
        for path in ("../../etc/passwd", "%2e%2e/etc/passwd", "page.css", "data/../../", "data/fact/../facts", "\\"):
            assert ask(web, path).status == 404, path
        assert ask(web, "data/fact?name=../../etc/passwd").json()["error"].startswith("Error: [PARSE_SYNTAX_ERROR]")

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
            (b"GET\r\n\r\n", 400),
            (b"GET / HTTP/9.9.9\r\n\r\n", 400),
            (b"GET / HTTP/3.0\r\nHost: 127.0.0.1:PORT\r\n\r\n", 505),
            (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
            (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431),
            (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 300 + b"\r\n", 431),
            (b"DELETE /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 501),
            (b"GET /TOKEN/?%zz=%ff&a&a&a&a&a&a HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 400),
            (b"GET http://[/TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 400),
            (b"POST /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 405),
        ],
        ids=range(11),
    )
    def test_malformed_requests(self, web: WebServer, sent: bytes, status: int) -> None:
        answer = raw(web, sent)
        assert f" {status} ".encode() in answer.split(b"\r\n")[0], answer[:300]
        assert b"Traceback" not in answer
        assert ask(web, "").status == 200

    def test_posts_are_limited(self, web: WebServer) -> None:
        token = address(web)[2]
        head = (
            b"POST /TOKEN/data/query HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-Rewriter-Token: TOKEN\r\n"
            b"Content-Type: application/json\r\n"
        )
        for length, status in ((b"999999999999999999", 413), (b"200001", 413), (b"-1", 411), (b"x", 411), (b"", 411)):
            sent = head + b"Content-Length: " + length + b"\r\n\r\n"
            assert f" {status} ".encode() in raw(web, sent).split(b"\r\n")[0]
        assert b" 411 " in raw(web, head + b"\r\n")
        assert b" 501 " in raw(web, head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        # Cut off in the middle.
        assert b" 400 " in raw(web, head + b'Content-Length: 100\r\n\r\n{"sql": "SEL')
        bodies = (b"", b"[]", b"{}", b'{"sql": 1}', b'{"sql": "SELECT 1", "run": 1}', b"\xff", b"[" * 100_000)
        for body in bodies:
            headers = {"X-Rewriter-Token": token, "Content-Type": "application/json"}
            assert ask(web, "data/query", "POST", body, headers).status == 400
        assert post(web, QUERY, **{"Content-Type": "text/plain"}).status == 415
        assert post(web, "SELECT '" + "x" * 250_000 + "'").status == 413

    def test_slow_clients_harm_nobody(self, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
        host, port, _ = address(web)
        slow = [socket.create_connection((host, port), timeout=30) for _ in range(3 * server.MOST_CONNECTIONS)]
        for client in slow:
            with contextlib.suppress(OSError):
                client.sendall(b"GET / HT")
        assert ask(web, "data/facts").status == 200
        # The oldest were ended for the newer ones.
        assert slow[0].recv(1) == b""
        for client in slow:
            client.close()
        assert ask(web, "data/facts").status == 200

    def test_a_request_ends_with_its_time(self, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "PATIENCE", 0.05)
        assert raw(web, b"GET / HT", end=False) == b""

    def test_clients_that_go_away(self, web: WebServer) -> None:
        host, port, token = address(web)
        for _ in range(20):
            client = socket.create_connection((host, port))
            client.sendall(f"GET /{token}/data/facts HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            client.close()
        assert ask(web, "data/facts").status == 200


def _rename_as_earlier_versions_could(session: Session, name: str, other: str) -> None:
    """Gives a fact a name that CREATE FACT refuses now."""
    fact = session.catalog.snapshot().fact(name)
    session.execute(f"DROP FACT {name}")
    with session.catalog.begin(session.catalog.snapshot()) as transaction:
        transaction.commit([CreateObject(replace(fact, id=transaction.allocate_id(), name=other))])


class TestContent:
    def test_facts(self, web: WebServer) -> None:
        data = ask(web, "data/facts").json()
        (fact,) = data["facts"]
        assert (fact["name"], fact["cube"], fact["missing"]) == ("f", "c", "21 HOURLY periods")
        days, hours = fact["periods"]
        assert (days["partitions"], days["unproven"], days["latest"]) == (1, 1, "2015-01-03")
        assert (hours["partitions"], hours["unproven"], hours["latest"]) == (3, 0, "2015-01-01T04")
        assert [commit["objects"] for commit in data["commits"][:2]] == ["days", "hours"]
        assert data["commits"][0]["commit"] > data["commits"][1]["commit"]

    def test_only_what_changed_is_sent(self, web: WebServer, session: Session) -> None:
        for path in ("data/facts?", "data/fact?name=f&"):
            version = ask(web, path).json()["version"]
            assert ask(web, f"{path}since={version}").status == 204
            # A commit that changes nothing of a fact is no change of its chart.
            session.execute(f"CREATE TABLE other_{len(path)} (x INT)")
            assert ask(web, f"{path}since={version}").status == (204 if "name" in path else 200)
        session.execute("ALTER TABLE hours ADD PARTITION (dt='2015-01-01-02')")
        assert ask(web, f"{path}since={version}").status == 200

    def test_a_fact(self, web: WebServer) -> None:
        chart = ask(web, "data/fact?name=F").json()["chart"]
        assert chart["title"] == "f: [2015-01-01, 2015-01-03)"
        assert [row["label"] for row in chart["rows"]] == ["days DAILY", "hours HOURLY", "missing"]
        assert ask(web, "data/facts").status == 200
        assert ask(web, "data/fact?name=").status == 422
        answer = ask(web, "data/fact?name=nope")
        assert answer.status == 422
        assert answer.json()["error"].startswith("Error: [FACT_NOT_FOUND]")

    def test_each_fact_of_the_list_has_its_page(self, web: WebServer, session: Session) -> None:
        names = ["a b", "A%2e#?&", "</script>", "`q`", "a", "f`", "select", "日本", "é"]
        session.execute("CREATE DATABASE d")
        for database in ("default", "d"):
            session.execute(f"USE {database}")
            session.execute("CREATE CUBE IF NOT EXISTS c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
            for number, name in enumerate(names):
                session.execute(f"CREATE TABLE t{number} (n BIGINT) PARTITIONED BY (dt STRING)")
                stored = f"STORED IN STORAGE s (TABLE t{number} PERIOD DAILY PARTITIONED BY t AS (dt))"
                session.execute(f"CREATE FACT plain OF CUBE c {stored}")
                prefix = "" if database == "default" else f"{database}."
                _rename_as_earlier_versions_could(session, f"{prefix}plain", f"{prefix}{name}")
        listed = ask(web, "data/facts").json()["facts"]
        assert {fact["shown"] for fact in listed} >= set(names) | {f"d.{name}" for name in names}
        for fact in listed:
            assert "error" not in fact
            answer = ask(web, f"data/fact?name={quote(fact['name'], safe='')}")
            assert answer.status == 200, fact
            assert answer.json()["chart"]["title"].startswith(f"{fact['shown']}: ")

    def test_a_query(self, web: WebServer) -> None:
        data = post(web, QUERY).json()
        assert [cover["title"] for cover in data["covers"]] == ["c: [2015-01-01, 2015-01-01T02)"]
        assert data["tables"] == [{"table": "hours", "read": 2, "total": 3}]
        assert "hours" in data["sql"]
        assert "error" not in data
        data = post(web, "SELECT SUM(n) FROM c WHERE time_range_in(t, '2015-01-01', '2015-01-02')").json()
        assert "lacks" in data["error"] or "missing" in data["error"]
        assert data["covers"][0]["rows"][-1]["amount"] == "21 HOURLY periods"
        # What was tolerated once is not for the next one.
        assert "error" in post(web, "SELECT SUM(n) FROM c WHERE time_range_in(t, '2015-01-01', '2015-01-02')").json()
        data = post(web, "SELECT SUM(n) FROM c WHERE t >= '2030-01-01'").json()
        assert data["covers"][0]["emptiness"] == "all of this time is missing"
        data = post(web, "SELECT * FROM hours WHERE dt = '2015-01-01-03'").json()
        assert data["covers"] == []
        assert data["tables"] == [{"table": "hours", "read": 1, "total": 3}]

    @pytest.mark.parametrize(
        ("sql", "condition", "line"),
        [
            ("SELECT nope FROM\n  absent", "TABLE_OR_VIEW_NOT_FOUND", "  |   ^"),
            ("DROP TABLE days", "PROGRAMMING_ERROR", "^"),
            ("SELECT \x1b[31m", "PARSE_SYNTAX_ERROR", "\\u001b"),
            ("", "PARSE_EMPTY_STATEMENT", ""),
            ("SELECT (" + "(" * 50_000, "", ""),
        ],
        ids=range(5),
    )
    def test_errors_have_a_caret_and_no_traceback(self, web: WebServer, sql: str, condition: str, line: str) -> None:
        error = post(web, sql).json()["error"]
        assert condition in error
        assert "Traceback" not in error
        assert "\x1b" not in error
        assert line.strip(" |") in error

    def test_nothing_is_written(self, web: WebServer, session: Session, tmp_path: Path) -> None:
        def state() -> dict[str, bytes]:
            files = (path for path in (tmp_path / "w").rglob("*") if path.is_file() and "-shm" not in path.name)
            return {str(path): path.read_bytes() for path in files}

        before = state()
        for path in ("data/facts", "data/fact?name=f", ""):
            ask(web, path)
        statements = ("CREATE TABLE x AS SELECT 1", "DROP TABLE hours", "SET rewriter.partial_data = true", "COMMIT")
        for sql in (QUERY, "SELECT * FROM hours", "SELECT * FROM parquet.`/etc/passwd`", *statements):
            post(web, sql)
            answer = post(web, sql, RUN)
            assert ("result" in answer.json()) == (sql == QUERY or ("hours" in sql and "DROP" not in sql)), sql
        for path in ("data/due", "data/examples"):
            assert ask(web, path).status == 200
        assert state() == before


class TestWhatCanBeQueried:
    """The three words, what is due, and queries. ``tests/differential/test_charts.py`` compares the words with queries
    of random histories.
    """

    def test_words_and_reasons(self, web: WebServer) -> None:
        (fact,) = ask(web, "data/facts").json()["facts"]
        assert (fact["state"], fact["counts"]) == ("partly", {"whole": 3, "partly": 0, "not": 45})
        assert [(row["name"], row["column"], len(row["cells"])) for row in fact["calendar"]["rows"]] == [
            ("2015-01-01", 0, 24),
            ("2015-01-02", 0, 24),
        ]
        cells = [cell for row in fact["calendar"]["rows"] for cell in row["cells"]]
        assert [cell[1] for cell in cells] == ["whole", "whole", "not", "whole", *["not"] * 44]
        assert cells[0] == ["2015-01-01", "whole", 1420070400, 1420074000]
        assert cells[2][4:] == ["[2015-01-01T02, 2015-01-01T03): missing"]
        assert cells[24][4:] == ["[2015-01-02, 2015-01-03): missing; DAILY of days is unproven"]
        days, hours = fact["periods"]
        assert [state for state, _, _ in days["bar"]] == ["", "unproven"]
        assert sum(slices for _, _, slices in hours["bar"]) == 120

    def test_retention_leaves_what_rollups_hold(self, web: WebServer, session: Session) -> None:
        """What RETAIN has dropped can be read by longer periods, and no query of days finds it."""
        list(session.script(RETAINED))
        fact = next(fact for fact in ask(web, "data/facts").json()["facts"] if fact["name"] == "visits_all")
        assert (fact["state"], fact["counts"]) == ("partly", {"whole": 9, "partly": 31, "not": 0})
        whole = ask(web, "data/fact?name=visits_all").json()
        reason = "dropped: only MONTHLY periods of visits_all_monthly"
        assert whole["gaps"] == [{"time": "[2012-01-01, 2012-02-01)", "state": "partly", "reason": reason}]
        days = next(row for row in whole["chart"]["rows"] if row["label"] == "visits DAILY")
        assert days["states"]["dropped"] == [0, 31 * 86400, 31]
        query = "SELECT SUM(n) AS n FROM visited WHERE time_range_in(t, '2012-01-01', '{}')"
        assert "error" in post(web, query.format("2012-01-02"), RUN).json()
        assert post(web, query.format("2012-02-01"), RUN).json()["result"]["rows"] == [["4"]]

    def test_a_part_of_the_calendar(self, web: WebServer) -> None:
        part = ask(web, "data/calendar?name=f&from=1420070400&to=1420081200").json()
        (row,) = part["calendar"]["rows"]
        assert [cell[1] for cell in row["cells"]] == ["whole", "whole", "not"]
        assert part["chart"]["window"] == [1420070400, 1420081200]
        for wrong in ("", "&from=1&to=1", "&from=x&to=2", "&from=1&to=99999999999999999"):
            assert ask(web, f"data/calendar?name=f{wrong}").status == 400
        assert ask(web, "data/calendar?name=nope&from=1&to=2").status == 422

    @pytest.mark.parametrize(
        ("base", "zone", "first", "last", "unit", "cells"),
        [
            ("HOURLY", "UTC", "2010-01-01", "2020-01-01", "MONTHLY", 120),
            ("HOURLY", "UTC", "2019-11-01", "2020-02-01", "DAILY", 92),
            ("DAILY", "UTC", "2020-01-01", "2020-01-03", "DAILY", 2),
            ("WEEKLY", "UTC", "2020-01-06", "2020-03-02", "MONTHLY", 3),
            ("QUARTERLY", "UTC", "1900-01-01", "2020-01-01", "YEARLY", 120),
            ("DAILY", "UTC", "1000-01-01", "2000-01-01", "YEARLY", 1000),
            # A day of 23 hours, and one of 25.
            ("HOURLY", "America/New_York", "2013-03-10", "2013-03-11", "HOURLY", 23),
            ("HOURLY", "America/New_York", "2013-11-03", "2013-11-04", "HOURLY", 25),
        ],
    )
    def test_cells_are_few(self, base: str, zone: str, first: str, last: str, unit: str, cells: int) -> None:
        calendar = calendar_of(zone)
        period = calendar.of(UpdatePeriod[base])
        time = TimeRange(*(resolve_bound(text, 0, calendar) for text in (first, last)))
        half = RangeSet.of(TimeRange(time.start, period.floor((time.start + time.end) // 2)))
        rest = tuple(Gap(range_, Readable.NOT, "missing") for range_ in RangeSet.of(time) - half)
        data = calendar_data(Readiness(RangeSet.of(time), half, rest), period, calendar, most=130)
        assert data is not None
        assert data["unit"] == unit
        drawn = [cell for row in data["rows"] for cell in row["cells"]]
        assert len(drawn) == cells
        assert {cell[1] for cell in drawn} <= {"whole", "partly", "not"}
        assert drawn[0][0] == first[: {"MONTHLY": 7, "YEARLY": 4}.get(unit, 10)]

    def test_a_chart_of_many_ranges_is_cut(self, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
        assert ask(web, "data/fact?name=f").json()["cut"] == ""
        monkeypatch.setattr(views, "_RANGES", 4)
        monkeypatch.setattr(views, "_AGE", -1.0)
        data = ask(web, "data/fact?name=f").json()
        assert data["cut"] == "2015-01-01T03"
        assert data["chart"]["window"][0] == 1420081200
        assert sum(len(row["cells"]) for row in data["calendar"]["rows"]) == 48

    def test_what_is_due_is_done_by_its_statements(self, web: WebServer, session: Session) -> None:
        due = ask(web, "data/due").json()["due"]
        assert [(item["state"], item["periods"], item["time"], item["statement"]) for item in due] == [
            ("missing", "45 HOURLY periods", "[2015-01-01T02, 2015-01-03), 2 ranges", "INSERT INTO hours …"),
            ("missing", "1 DAILY period", "[2015-01-01, 2015-01-02)", "REFRESH FACT f"),
            ("unproven", "1 DAILY period", "[2015-01-02, 2015-01-03)", "CHECK FACT f ACCEPT"),
        ]
        assert [item.get("first", "") for item in due] == ["", *["Load their base first."] * 2]
        version = ask(web, "data/due").json()["version"]
        assert ask(web, f"data/due?since={version}").status == 204
        session.execute(
            "INSERT INTO hours MARK COMPLETE FROM '2015-01-01' TO '2015-01-03' VALUES (1, '2015-01-01-02')"
        ).fetch()
        for item in due[1:]:
            session.execute(item["statement"]).fetch()
        assert ask(web, "data/due").json()["due"] == []
        assert ask(web, "data/facts").json()["facts"][0]["state"] == "whole"
        list(session.script(RETAINED.replace("MAINTAIN FACT", "REFRESH FACT")))
        (item,) = ask(web, "data/due").json()["due"]
        assert (item["state"], item["periods"], item["statement"]) == (
            "kept too long",
            "31 DAILY periods",
            "MAINTAIN FACT visits_all",
        )
        session.execute(item["statement"]).fetch()
        assert ask(web, "data/due").json()["due"] == []

    def test_what_differs_from_its_base(self, web: WebServer, session: Session) -> None:
        """A rollup that a comparison has found to be wrong is told from one that nothing has compared."""
        load = "INSERT INTO hours MARK COMPLETE FROM '2015-01-01' TO '2015-01-03' VALUES (1, '2015-01-01-02')"
        list(session.script(f"{load}; REFRESH FACT f"))
        snapshot = session.catalog.snapshot()
        keys = [partition.key for partition in snapshot.partitions(snapshot.table("days")) if "01-01" in str(partition)]
        with session.catalog.begin(snapshot) as transaction:
            transaction.commit([RejectPartitions(snapshot.table("days"), tuple(keys), BY_COMPARISON)])
        data = ask(web, "data/fact?name=f").json()
        days = next(row for row in data["chart"]["rows"] if row["label"] == "days DAILY")
        assert days["states"]["differs"] == [0, 86400, 1]
        (fact,) = ask(web, "data/facts").json()["facts"]
        assert (fact["state"], fact["periods"][0]["differs"], fact["periods"][0]["bar"][0][0]) == (
            "whole",
            1,
            "differs",
        )
        due = {item["time"]: item["statement"] for item in ask(web, "data/due").json()["due"]}
        assert due["[2015-01-01, 2015-01-02)"] == "REFRESH FACT f"

    def test_examples_run(self, web: WebServer, session: Session) -> None:
        list(session.script(f"{RETAINED}; INSERT OVERWRITE hours VALUES (7, '2015-01-01-03')"))
        data = ask(web, "data/examples").json()
        assert data["runs"]
        assert [example["name"] for example in data["examples"]] == ["f", "visits_all"]
        for example in data["examples"]:
            answer = post(web, example["sql"], RUN).json()
            rows = session.execute(example["sql"]).fetch()
            assert answer["result"]["rows"] == [[text_of(value) for value in row] for row in rows]
            assert len(rows) > 0

    def test_rows(self, web: WebServer) -> None:
        data = post(web, "SELECT 'a<b' AS `x<y`, 1 + 1, CAST(NULL AS INT), repeat('x', 1000), '\u202e'", RUN).json()
        result = data["result"]
        assert result["columns"][0] == {"name": "x<y", "type": "string"}
        assert result["rows"] == [["a<b", "2", "NULL", "x" * 499 + "…", "\\u202e"]]
        assert (result["right"][:3], result["more"]) == ([False, True, False], False)
        result = post(web, "SELECT explode(sequence(1, 100000)) AS n", RUN).json()["result"]
        assert (len(result["rows"]), result["more"]) == (200, True)
        answer = post(web, "SELECT n, repeat('x', 500), * FROM (SELECT explode(sequence(1, 200)) AS n)", RUN)
        assert answer.json()["result"]["rows"]
        wide = ", ".join(["repeat('x', 500)"] * 90)
        answer = post(web, f"SELECT {wide} FROM (SELECT explode(sequence(1, 200)) AS n) AS s", RUN)
        assert len(answer.body) < 300_000
        assert answer.json()["result"]["more"]

    def test_missing_partitions(self, web: WebServer) -> None:
        query = "SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '2015-01-01', '2015-01-02')"
        data = post(web, query, RUN).json()
        assert data["missing"] == ["[2015-01-01T02, 2015-01-01T03)", "[2015-01-01T04, 2015-01-02)"]
        assert "result" not in data
        data = post(web, query, {"run": True, "partial": True}).json()
        assert len(data["result"]["rows"]) == 1
        assert "lacks" in data["warnings"][0]
        assert "error" in post(web, query, RUN).json()

    def test_the_place_of_an_error(self, web: WebServer) -> None:
        """It is in the units in which a browser counts: a character beyond 16 bits is two."""
        data = post(web, "SELECT '🙂',\n nope FROM hours", RUN).json()
        assert data["place"] == [14, 18]

    def test_a_server_that_plans_only(self, session: Session, tmp_path: Path) -> None:
        served = WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w", runs_queries=False)
        served.start()
        try:
            assert post(served, QUERY, RUN).status == 403
            assert post(served, QUERY).json()["covers"]
            assert b'value="run"' not in ask(served, "query").body
        finally:
            served.stop()

    @pytest.mark.parametrize(("host", "runs"), [("127.0.0.1", True), ("0.0.0.0", False)])
    def test_other_machines_run_nothing_by_default(
        self, session: Session, tmp_path: Path, host: str, runs: bool
    ) -> None:
        served = WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w", host)
        served.start()
        try:
            assert (b'value="run"' in ask(served, "query").body) == runs
        finally:
            served.stop()

    def test_files_outside_of_the_catalog_are_not_read(self, web: WebServer, tmp_path: Path, session: Session) -> None:
        secret = tmp_path / "secret.csv"
        secret.write_text("a\n1\n")
        session.execute(f"CREATE VIEW peek AS SELECT * FROM csv.`{secret}`")
        for source in (f"csv.`{secret}`", "peek", f"(SELECT 1 AS x WHERE EXISTS (SELECT * FROM csv.`{secret}`)) AS s"):
            data = post(web, f"SELECT * FROM {source}", RUN).json()
            assert "[NOT_SERVED]" in data["error"], source
            assert "result" not in data

    def test_periods_that_a_setting_excludes(self, session: Session, tmp_path: Path) -> None:
        """What no query of the server may use cannot be queried."""
        list(session.script(RETAINED))
        settings = {"rewriter.periods": "MONTHLY"}
        served = WebServer(lambda: Session(tmp_path / "w", "duckdb", None, settings), "w")
        served.start()
        try:
            data = ask(served, "data/fact?name=visits_all").json()
            assert data["fact"]["counts"] == {"whole": 0, "partly": 31, "not": 9}
            assert data["gaps"][0]["reason"] == "excluded by rewriter.periods"
            assert "error" in post(served, "SELECT SUM(n) FROM visited WHERE t >= '2012-02-01'").json()
        finally:
            served.stop()

    def test_clusters_run_nothing(self, session: Session, tmp_path: Path) -> None:
        settings = {"hive.cluster.properties": '{"a": {"filesystem": "/data/a"}}'}
        served = WebServer(lambda: Session(tmp_path / "w", "duckdb", None, settings), "w")
        served.start()
        try:
            data = post(served, "SELECT n FROM hours", RUN).json()
            assert "[NOT_SERVED] The query would run on a cluster." in data["error"]
            assert data["tables"]
        finally:
            served.stop()

    def test_a_query_ends_with_its_time(self, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = "(SELECT explode(sequence(1, 300000)) AS {0}) AS of_{0}"
        slow = f"SELECT COUNT(*) FROM {numbers.format('n')}, {numbers.format('m')}"
        assert post(web, "SELECT 1", RUN).json()["result"]
        monkeypatch.setattr(views, "RUNNING", 0.5)
        start = time.monotonic()
        answer = post(web, f"{slow} WHERE n * m % 7 = 3", RUN)
        assert time.monotonic() - start < 15
        assert answer.status == 503
        assert answer.json()["error"].startswith("Error: [QUERY_TIMEOUT] The query has not ended after 0.5 seconds.")
        monkeypatch.setattr(views, "RUNNING", 30.0)
        assert post(web, "SELECT 1", RUN).json()["result"]["rows"] == [["1"]]


def test_addresses_that_cannot_be_had(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for host, port in (("127.0.0.1", taken.getsockname()[1]), ("no.such.host.invalid", 0), ("x" * 300, 0)):
            with pytest.raises(OperationalError) as info:
                WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w", host, port)
            assert info.value.condition == "ADDRESS_UNAVAILABLE"
    unused = WebServer(lambda: Session(tmp_path / "w", "duckdb"), "w")
    unused.stop()
    unused.stop()
    assert not (tmp_path / "w").exists()


def views_of_views(session: Session, deepest: int) -> str:
    """Returns a query whose planning takes twice as long with each level of views above the sixth."""
    session.execute("CREATE VIEW v0 AS SELECT SUM(n) AS n FROM c WHERE t = '2015-01-01'")
    for level in range(1, 7):
        session.execute(f"CREATE VIEW v{level} AS SELECT x.n FROM v{level - 1} x, v{level - 1} y")
    return f"SELECT 1 FROM {', '.join(f'v6 x{number}' for number in range(2 ** (deepest - 6)))}"


class TestLongPlanning:
    def test_it_ends_with_its_time(self, web: WebServer, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        query = views_of_views(session, 9)
        monkeypatch.setattr(views, "PLANNING", 0.05)
        answer = post(web, query)
        assert answer.status == 503
        assert answer.json()["error"].startswith(
            "Error: [PLANNING_TIMEOUT] The query is not planned after 0.05 seconds."
        )
        monkeypatch.setattr(views, "PLANNING", 60.0)
        assert post(web, QUERY).json()["covers"]

    def test_it_does_not_hold_up_the_end(self, web: WebServer, session: Session) -> None:
        query = views_of_views(session, 13)

        def plan() -> None:
            with contextlib.suppress(Exception):
                post(web, query)

        threading.Thread(target=plan, daemon=True).start()
        time.sleep(0.5)
        start = time.monotonic()
        web.stop()
        assert time.monotonic() - start < 9  # Planning may take ten seconds.

    def test_a_text_is_limited(self, web: WebServer) -> None:
        answer = post(web, "SELECT '" + "x" * 100_000 + "'")
        assert answer.status == 413
        assert "100,000" in answer.json()["error"]


class TestOtherCatalogs:
    def test_a_replaced_catalog_is_opened_again(self, web: WebServer, session: Session, tmp_path: Path) -> None:
        assert ask(web, "data/facts").json()["facts"][0]["name"] == "f"
        assert post(web, QUERY).json()["covers"]
        session.close()
        shutil.rmtree(tmp_path / "w")
        with Session(tmp_path / "w", "duckdb") as other:
            list(other.script(SETUP.replace("FACT f", "FACT g").replace("-01-01-01'", "-01-01-05'")))
        assert ask(web, "data/facts").json()["facts"][0]["name"] == "g"
        assert ask(web, "data/fact?name=g").status == 200
        assert "error" in post(web, QUERY).json()
        assert post(web, "SELECT * FROM days").json()["tables"]

    def test_an_older_one_is_not_upgraded(self, tmp_path: Path) -> None:
        older = tmp_path / "older"
        older.mkdir()
        engine = sa.create_engine(f"sqlite:///{older}/catalog.db")
        with engine.begin() as connection:
            migrations.migrate(connection, migrations.STEPS[:-1])
        engine.dispose()
        words = [sys.executable, "-m", "rewriter", "serve", "--web", "--port", "0", "-w", str(older)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert "[CATALOG_TOO_OLD]" in done.stderr
        assert "rewriter catalog upgrade" in done.stderr
        assert Catalog.stored_version(older) == len(migrations.STEPS) - 1

    def test_nor_is_one_that_takes_the_place_of_another(self, session: Session, tmp_path: Path) -> None:
        opened = connection(warehouse=str(tmp_path / "w"))
        served = WebServer(lambda: opened.reading_session(""), "w")
        served.start()
        try:
            session.close()
            shutil.rmtree(tmp_path / "w")
            assert "[WAREHOUSE_NOT_FOUND]" in ask(served, "data/facts").json()["error"]
            self.test_an_older_one_is_not_upgraded(tmp_path)
            (tmp_path / "older").rename(tmp_path / "w")
            assert "[CATALOG_TOO_OLD]" in ask(served, "data/facts").json()["error"]
            assert Catalog.stored_version(tmp_path / "w") == len(migrations.STEPS) - 1
        finally:
            served.stop()


class TestCommand:
    def test_a_wrong_setting_is_an_error_at_once(self, session: Session, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "rewriter", "serve", "--web", "--port", "0", "-w", str(tmp_path / "w")]
        done = subprocess.run([*words, "--set", "nope=1"], capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert "nope" in done.stderr

    def test_a_signal_ends_it_while_it_plans(self, session: Session, tmp_path: Path) -> None:
        query = views_of_views(session, 13)
        words = [sys.executable, "-m", "rewriter", "serve", "--web", "--port", "0", "-w", str(tmp_path / "w")]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        place, token = process.stdout.readline().split("/")[2:4]
        client = http.client.HTTPConnection(place, timeout=30)
        headers = {"Content-Type": "application/json", "X-Rewriter-Token": token}
        client.request("POST", f"/{token}/data/query", json.dumps({"sql": query}), headers)
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert time.monotonic() - start < 9  # Planning may take ten seconds.
        assert "Traceback" not in err

    @pytest.mark.parametrize(("number", "queries"), [(signal.SIGINT, "run"), (signal.SIGTERM, "plan")])
    def test_signals_end_it(self, session: Session, tmp_path: Path, number: signal.Signals, queries: str) -> None:
        words = [sys.executable, "-m", "rewriter", "serve", "--web", "--port", "0", "-w", str(tmp_path / "w")]
        words += ["--queries", queries]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        url = process.stdout.readline()
        assert url.startswith("http://127.0.0.1:")
        place, token = url.split("/")[2:4]
        connection = http.client.HTTPConnection(place, timeout=30)
        connection.request("GET", f"/{token}/query")
        assert (b'value="run"' in connection.getresponse().read()) == (queries == "run")
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")

    def test_errors(self, tmp_path: Path) -> None:
        for words, message in (
            (["--web", "-w", str(tmp_path / "absent")], "[WAREHOUSE_NOT_FOUND]"),
            ([], "Say what to serve: --web, --metastore."),
            (["--metastore", "--queries", "run"], "--queries needs --web."),
            (["--web", "--host", "no.such.host.invalid", "-w", str(tmp_path / "absent")], "[WAREHOUSE_NOT_FOUND]"),
            (["--web", "--port", "70000"], "70000"),
        ):
            command = [sys.executable, "-m", "rewriter", "serve", *words]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
            assert done.returncode in (1, 2)
            assert message in done.stderr
            assert "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
class TestInChromium:
    def test_pages_are_live(self, web: WebServer, session: Session, watched: Watched) -> None:
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        page = watched.page
        page.goto(web.url)
        link = page.locator("#facts").get_by_role("link", name="f", exact=True)
        link.wait_for()
        assert page.locator("h1").inner_text() == "<script>alert(1)</script>\\u001b[31m\\u202e🙂'\""
        assert "21 HOURLY periods" in page.locator("#facts").inner_text()
        session.execute("ALTER TABLE hours ADD PARTITION (dt='2015-01-01-02')")
        page.get_by_text("20 HOURLY periods").wait_for()
        link.click()
        page.get_by_role("button", name="Zoom in").click()
        zoomed = page.locator(".shown").inner_text()
        bars = page.evaluate("document.querySelectorAll('svg.main path').length")
        session.execute("ALTER TABLE hours ADD PARTITION (dt='2015-01-02-02') PARTITION (dt='2015-01-02-03')")
        session.execute("ALTER TABLE hours DROP PARTITION (dt='2015-01-01-00')")
        page.locator("svg.main title", has_text="of 5").wait_for(state="attached")
        assert page.locator(".shown").inner_text() == zoomed
        assert page.evaluate("document.querySelectorAll('svg.main path').length") >= bars
        watched.check()
        assert all("token" not in url for url in watched.requests)

    def test_what_a_query_reads(self, web: WebServer, watched: Watched) -> None:
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        page = watched.page
        page.goto(f"{web.url}query")
        page.locator("#sql").fill(QUERY)
        page.get_by_role("button", name="Plan it").click()
        page.locator("#answer svg.main").wait_for()
        assert page.locator("#answer h2").first.inner_text() == "c: [2015-01-01, 2015-01-01T02)"
        assert page.locator("#answer table.result").count() == 0
        page.locator("#sql").fill("SELECT '<img src=x onerror=alert(1)>' FROM `<b>`")
        page.keyboard.press("Control+Enter")
        page.locator("#answer p.bad").wait_for()
        assert "`<b>`" in page.locator("#answer p.bad").inner_text()
        assert page.locator("#answer img").count() == 0
        watched.check()
        page.locator("#sql").fill("x" * 100_001)
        page.get_by_role("button", name="Plan it").click()
        page.get_by_text("at most 100,000 characters").wait_for()
        assert "`<b>`" not in page.locator("#answer").inner_text()
        # What was planned before does not stand beside an error.
        web.stop()
        page.get_by_role("button", name="Plan it").click()
        page.get_by_text("The server cannot be reached.").wait_for()
        assert page.locator("#answer").inner_text() == ""

    def test_texts_run_no_script(self, web: WebServer, watched: Watched) -> None:
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        watched.page.goto(f"{web.url}fact?name={quote(EVIL)}")
        assert watched.page.locator("h1").inner_text().startswith("<script>alert(1)</script>\\u001b[31m")
        watched.page.get_by_text("[PARSE_SYNTAX_ERROR]").wait_for()
        assert watched.page.locator("#status").inner_text().startswith("Error: [PARSE_SYNTAX_ERROR] '<script>alert(1)")
        assert [problem for problem in watched.problems if "422" not in problem] == []

    def test_another_site_cannot_read(self, web: WebServer, watched: Watched) -> None:
        watched.host = address(web)[0] + ":" + str(address(web)[1])
        watched.page.goto("data:text/html,<title>elsewhere</title>")
        read = watched.page.evaluate("(url) => fetch(url).then(() => 'read', () => 'refused')", f"{web.url}data/facts")
        assert read == "refused"

    def test_a_calendar_says_why(self, web: WebServer, session: Session, watched: Watched) -> None:
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        page = watched.page
        page.goto(web.url)
        page.get_by_role("button", name="2015-01-01T01: whole").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(".said").inner_text().splitlines() == [
            "2015-01-01T02: not",
            "[2015-01-01T02, 2015-01-01T03): missing",
        ]
        page.keyboard.press("ArrowDown")
        assert "2015-01-02T02: not" in page.locator(".said").inner_text()
        assert page.get_by_role("img", name="hours HOURLY: 3").count() == 1
        assert page.locator("#due").get_by_text("CHECK FACT f ACCEPT").count() == 1
        page.keyboard.press("Enter")
        page.locator("svg.main path").first.wait_for()
        assert page.locator(".shown").inner_text() == "2015-01-02T02 … 2015-01-02T03"
        assert "not" in page.locator("#gaps").inner_text()
        watched.check()

    def test_an_example_runs(self, web: WebServer, watched: Watched) -> None:
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        page = watched.page
        page.goto(f"{web.url}query?fact=f")
        page.locator("#example option").wait_for(state="attached")
        assert page.locator("#sql").input_value().startswith("SELECT date_trunc(")
        page.locator("#sql").press("Control+Enter")
        page.locator("#answer table.result th").first.wait_for()
        assert page.locator("#answer svg.main").count() == 1
        page.locator("#sql").fill("SELECT '🙂', nope FROM hours")
        page.get_by_role("button", name="Run").click()
        page.get_by_role("button", name="Show the place").click()
        assert page.evaluate("getSelection().toString()") == "nope"
        watched.check()

    def test_narrow_and_dark_windows(self, web: WebServer, session: Session, watched: Watched) -> None:
        _rename_as_earlier_versions_could(session, "f", "<img src=x onerror=alert(1)>" + "x" * 60)
        host, port, _ = address(web)
        watched.host = f"{host}:{port}"
        page, grounds = watched.page, set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": 360, "height": 700})
            for path in ("", "query"):
                page.goto(f"{web.url}{path}")
                page.locator("#example option, #due li").first.wait_for(state="attached")
                if path == "":
                    page.locator("#facts a").click()
                    page.locator("#due li").first.wait_for()
                    assert page.evaluate("document.documentElement.scrollWidth") <= 360
                    page.go_back()
                    page.locator("#facts a").wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= 360
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert page.locator("img").count() == 0
        assert len(grounds) == 2
        watched.check()
