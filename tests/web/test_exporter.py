"""The real OpenTelemetry SDK and exporter against a real server, pointed at it by two environment variables."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.browser.conftest import serve, stop
from tests.until import until
from tests.web.test_traces import send_to

PROGRAM = """
import json, sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

talk, count = sys.argv[1], int(sys.argv[2])
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("test")

def said(number):
    parts = [{"type": "text", "content": '{"n": %d}' % number}]
    answer = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
    return {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": talk,
            "gen_ai.request.model": "m1", "gen_ai.output.messages": json.dumps(answer)}

with tracer.start_as_current_span("agent"):
    for number in range(count):
        with tracer.start_as_current_span("chat m1") as span:
            span.set_attributes(said(number))
provider.shutdown()
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process, url = serve(tmp_path_factory.mktemp("exported"), "--no-examples")
    yield url
    stop(process)


def run(url: str, talk: str, count: int, **more: str) -> subprocess.CompletedProcess[str]:
    """The program, which knows of Fencepost by its environment alone."""
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", **more}
    command = [sys.executable, "-c", PROGRAM, talk, str(count)]
    return subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True, timeout=120)


def session(url: str, talk: str) -> dict[str, object]:
    with urlopen(f"{url}/api/session/{talk}?limit=500") as answer:
        return json.load(answer)


def test_what_it_sends_packed_is_a_session_that_grows(served: str) -> None:
    """`tests/dumps/formats/test_otlp.py` reads what other conventions call it."""
    ran = run(served, "packed", 3, OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = session(served, "packed")
    said = [turn["preview"] for turn in found["turns"] if turn["kind"] == "response"]
    assert (said, found["session"]["models"]) == (['{"n": 0}', '{"n": 1}', '{"n": 2}'], ["m1"])
    with urlopen(f"{served}/sessions/packed") as page:
        assert "Updating live" in page.read().decode()


def test_four_exporters_at_once_lose_nothing(served: str) -> None:
    """All write to one session, which is counted again a moment after its last span; each trace is one of its own."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run(served, "shared", 40), range(4)))
    until(lambda: session(served, "shared")["session"]["responses"] >= 160)
    found = session(served, "shared")["session"]
    assert (found["responses"], found["revision"]) == (160, 1)


def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    process, url = serve(tmp_path, "--no-examples")
    send_to(url, "killed", *range(50))
    process.send_signal(signal.SIGKILL)
    stop(process)
    process, url = serve(tmp_path, "--no-examples")
    try:
        assert session(url, "killed")["session"]["responses"] == 50
        send_to(url, "killed", *range(50, 60))
        assert session(url, "killed")["session"]["responses"] == 60
    finally:
        stop(process)
    with sqlite3.connect(tmp_path / "fencepost.sqlite3") as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()
