"""Real SDKs call a local provider; what they declare and get is traced, and a broken contract is shown."""

from __future__ import annotations

import html
import http.server
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.client.test_recorder import get, url
from tests.until import until

__all__ = ["url"]
SCHEMA = {"type": "object", "properties": {"passengers": {"type": "integer"}}, "required": ["passengers"]}
ARGUMENTS = '{"origin": "OSL", "passengers": "two"}'
ASKED = "Book it for the two of us."
OPENAI_TOOLS = [{"type": "function", "function": {"name": "book", "parameters": SCHEMA}}]
ANTHROPIC_TOOLS = [{"name": "book", "input_schema": SCHEMA}]
CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "book", "arguments": ARGUMENTS}}],
            },
        }
    ],
}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "tool_use", "id": "t1", "name": "book", "input": json.loads(ARGUMENTS)}],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 9},
}


class _Provider(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same call, in the words of the provider that the path is of."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert request["tools"]
        body = json.dumps(MESSAGE if self.path.endswith("/messages") else CHAT).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def asked_openai(provider: str) -> None:
    openai = pytest.importorskip("openai", reason="the test extra brings openai")
    with openai.OpenAI(base_url=f"{provider}/v1", api_key="k", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": ASKED}], tools=OPENAI_TOOLS)


def asked_anthropic(provider: str) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the test extra brings anthropic")
    with anthropic.Anthropic(base_url=provider, api_key="k", max_retries=0) as client:
        messages = [{"role": "user", "content": ASKED}]
        client.messages.create(model="m", max_tokens=99, messages=messages, tools=ANTHROPIC_TOOLS)


def shown(url: str, session: str) -> tuple[dict[str, Any], str]:
    """The turn of a session's only call as the API has it, and its page."""
    calls = until(
        lambda: [one for one in get(f"{url}/api/session/{session}")["turns"] if one["kind"] == "tool_call"], "the call"
    )
    (call,) = calls
    turn = get(f"{url}/api/session/{session}/turns/{call['position']}")
    with urllib.request.urlopen(f"{url}/sessions/{session}/turns/{call['position']}", timeout=60) as page:
        return turn, html.unescape(page.read().decode())


@pytest.mark.parametrize("ask", [asked_openai, asked_anthropic], ids=["openai", "anthropic"])
def test_what_opentelemetry_saw_of_an_sdk_breaks_its_contract(
    ask: Callable[[str], None], url: str, provider: str
) -> None:
    exported = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    name = ask.__name__.removeprefix("asked_")
    instrumentation = pytest.importorskip(f"openinference.instrumentation.{name}", reason="the test extra brings it")
    tracers = TracerProvider(resource=Resource({"session.id": f"traced-{name}"}))
    tracers.add_span_processor(SimpleSpanProcessor(exported.OTLPSpanExporter(f"{url}/v1/traces")))
    instrument = getattr(instrumentation, {"openai": "OpenAIInstrumentor"}.get(name, "AnthropicInstrumentor"))()
    instrument.instrument(tracer_provider=tracers)
    try:
        ask(provider)
    finally:
        instrument.uninstrument()
        tracers.shutdown()
    holds(*shown(url, f"traced-{name}"))


def holds(turn: dict[str, Any], page: str) -> None:
    contract = turn["contract"]
    assert (contract["state"], contract["tool"], contract["source"]) == ("schema_mismatch", "book", "request")
    (mismatch,) = contract["mismatches"]
    assert (mismatch["path"], mismatch["keyword"]) == ("$.passengers", "type")
    start, end = mismatch["span"]
    assert turn["raw"][start:end] == '"two"'
    assert 'must be an integer, and is "two"' in page
