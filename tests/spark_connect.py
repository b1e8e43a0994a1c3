"""A Spark Connect server for tests: a service of the Spark that runs in this process."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from typing import Any

import pytest

from rewriter.exec.spark.engine import SparkEngine

_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService"


def serve(engine: SparkEngine) -> str:
    """Starts the service in the Spark of a classic engine, and returns its URL. Skips the test without the client."""
    if find_spec("grpc") is None or find_spec("google.rpc") is None:
        pytest.skip("pip install 'rewriter[connect]'")
    context: Any = engine._running_spark().session.sparkContext
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    configuration = context._jsc.sc().conf()
    configuration.set("spark.connect.grpc.binding.port", str(port))
    configuration.set("spark.connect.grpc.binding.address", "127.0.0.1")
    service = context._jvm
    for name in _SERVICE.split("."):
        service = getattr(service, name)
    service.start(context._jsc.sc())
    return f"sc://127.0.0.1:{port}"
