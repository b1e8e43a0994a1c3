"""``rewriter serve --metastore`` as a process: its options, TLS, its log and its end."""

from __future__ import annotations

import contextlib
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from certificates import self_signed
from pymetastore.hive_metastore import ttypes as t
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException


def words(warehouse: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "rewriter", "serve", "-w", str(warehouse), *options]


@contextlib.contextmanager
def serving(warehouse: Path, *options: str, urls: int = 1) -> Iterator[list[str]]:
    """Runs the command, yields the URLs that it prints, and ends it with SIGTERM."""
    process = subprocess.Popen(words(warehouse, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield [process.stdout.readline().strip() for _ in range(urls)]
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err


@contextlib.contextmanager
def connected(url: str, trusted: Path | None = None) -> Iterator[Any]:
    port = int(url.rpartition(":")[2])
    plain = TSocket("127.0.0.1", port)
    if trusted is not None:
        plain = TSSLSocket("127.0.0.1", port, cert_reqs=ssl.CERT_REQUIRED, ca_certs=str(trusted))
    transport = TBufferedTransport(plain)
    transport.open()
    try:
        yield Client(TBinaryProtocolAcceleratedFactory().getProtocol(transport))
    finally:
        transport.close()


def failed(warehouse: Path, *options: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words(warehouse, *options), capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns a certificate and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"))


def test_a_new_warehouse_is_made_by_the_first_change(tmp_path: Path) -> None:
    warehouse, log = tmp_path / "w", tmp_path / "log"
    with serving(warehouse, "--metastore", "--port", "0", "--access-log", str(log)) as (url,):
        assert re.fullmatch(r"thrift://127\.0\.0\.1:\d+", url)
        with connected(url) as client:
            client.set_ugi("ada\x1b[2J", [])
            assert client.get_all_databases() == ["default"]
            assert not warehouse.exists()
            client.create_database(t.Database(name="d", parameters={}))
            with pytest.raises(t.NoSuchObjectException):
                client.get_database("none")
        with connected(url) as client:
            assert client.get_all_databases() == ["d", "default"]
    lines = log.read_text(encoding="utf-8").splitlines()
    assert [line.split()[3] for line in lines][:3] == ["set_ugi", "get_all_databases", "create_database"]
    assert lines[2].split()[1] == "127.0.0.1"
    assert lines[2].endswith("OK")
    # A connection logs after it has returned: the next connection may be faster.
    assert any(line.split()[3] == "get_database" and line.endswith("SCHEMA_NOT_FOUND") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_read_only(tmp_path: Path) -> None:
    with serving(tmp_path / "w", "--metastore", "--port", "0", "--read-only") as (url,), connected(url) as client:
        with pytest.raises(t.MetaException, match="READ_ONLY_SERVER"):
            client.create_database(t.Database(name="d", parameters={}))
        assert client.get_all_databases() == ["default"]


def test_beside_the_pages(tmp_path: Path) -> None:
    with serving(tmp_path / "w", "--metastore", "--port", "0") as (url,), connected(url) as client:
        client.create_database(t.Database(name="d", parameters={}))
    options = ("--web", "--port", "0", "--metastore", "--metastore-port", "0")
    with serving(tmp_path / "w", *options, urls=2) as (thrift, http), connected(thrift) as client:
        assert http.startswith("http://127.0.0.1:")
        assert client.get_all_databases() == ["d", "default"]


@pytest.mark.parametrize("allowed", [False, True])
def test_other_machines(tmp_path: Path, certificate: tuple[Path, Path], allowed: bool) -> None:
    files = [str(file) for file in certificate]
    options = ["--metastore", "--host", "0.0.0.0", "--port", "0", "--tls-certificate", files[0], "--tls-key", files[1]]
    with serving(tmp_path / "w", *options, *(["--allow-writes"] if allowed else [])) as (url,):
        with connected(url, trusted=certificate[0]) as client:
            assert client.get_all_databases() == ["default"]
            with contextlib.nullcontext() if allowed else pytest.raises(t.MetaException, match="READ_ONLY_SERVER"):
                client.create_database(t.Database(name="d", parameters={}))
        with connected(url) as client, pytest.raises(TTransportException):
            client.get_all_databases()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metastore", "--host", "0.0.0.0", "--port", "0"), "METASTORE_NEEDS_TLS"),
        (("--metastore", "--tls-certificate", "/nowhere.pem"), "INVALID_CERTIFICATE"),
        (("--metastore", "--tls-key", "/nowhere.pem"), "--tls-key needs --tls-certificate"),
        (("--metastore", "--port", "70000"), "--port"),
        (("--metastore", "--host", "203.0.113.1", "--port", "0"), "ADDRESS_UNAVAILABLE"),
        (("--metastore", "--port", "0", "--access-log", "/nowhere/log"), "ACCESS_LOG_UNAVAILABLE"),
        (("--web", "--read-only"), "These options need --metastore"),
        (("--metastore", "--port", "1", "--metastore-port", "2"), "--metastore-port"),
        ((), "--metastore"),
    ],
)
@pytest.mark.share(3)
def test_what_cannot_be_served(tmp_path: Path, options: Sequence[str], message: str) -> None:
    assert message in failed(tmp_path / "w", *options).stderr
    assert not (tmp_path / "w").exists()


def test_without_the_library(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['thrift'] = None; sys.argv = ['rewriter', *sys.argv[1:]];"
        "from rewriter.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "serve", "--metastore", "-w", str(tmp_path / "w")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "rewriter[metastore]" in done.stderr
    assert "Traceback" not in done.stderr
