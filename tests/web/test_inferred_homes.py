"""The parser of a session whose log names its program: inferred, said as that, and changed like any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.parsing.engine import profile

ANSWER = 'So:\n```json\n{"a": 1,}\n```'


@pytest.fixture
def app(make: Callable[..., Flask]) -> Flask:
    return make(home="unknown")


def spans(scope: dict[str, str], *more: dict[str, str]) -> str:
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}])
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "chat m", "startTimeUnixNano": "2"}
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said}
    span |= {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]}
    others = [
        {"scope": other, "spans": [span | {"spanId": f"{at + 3:016}", "startTimeUnixNano": "1"}]}
        for at, other in enumerate(more)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [*others, {"scope": scope, "spans": [span]}]}]})


def run(**runtime: str) -> str:
    outputs = {"generations": [[{"text": ANSWER, "message": {"kwargs": {"content": ANSWER}}}]]}
    times = {"start_time": "2026-11-01T00:00:00", "end_time": "2026-11-01T00:00:01"}
    about = {"id": "r", "trace_id": "r", "run_type": "llm", "name": "ChatModel", "extra": {"runtime": runtime}}
    return json.dumps(about | times | {"inputs": {"messages": [[{"kwargs": {"content": "?"}}]]}, "outputs": outputs})


def archive(agent: str) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
    answer = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": ANSWER}}],
    }
    headers = [{"name": "User-Agent", "value": agent}]
    request = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "headers": headers}
    request |= {"postData": {"text": json.dumps(body)}}
    response = {"status": 200, "content": {"text": json.dumps(answer)}}
    entry = {"startedDateTime": "2026-11-01T00:00:00Z", "request": request, "response": response}
    return json.dumps({"log": {"entries": [entry]}})


def aider(model: str) -> str:
    return (
        f"# aider chat started at 2026-03-01 10:00:00\n\n> Aider v0.85.1  \n> {model}  \n\n#### fix it  \n\n{ANSWER}\n"
    )


def trajectory(pattern: str, version: str) -> str:
    info = {"mini_version": version, "config": {"model": {"action_regex": pattern}}}
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": ANSWER}]
    return json.dumps({"info": info, "trajectory_format": "mini-swe-agent-1.1", "messages": messages})


def task(mode: str, *result: str) -> str:
    """What Cline and Roo Code keep of a task."""
    around = f"<environment_details>\n# Visible Files\n\n# Current Mode\n{mode}\n</environment_details>"
    users = [
        [{"type": "text", "text": words} for words in (*said, around)] for said in (("<task>\nfix\n</task>",), result)
    ]
    answer = {"role": "assistant", "content": [{"type": "text", "text": "<read_file>\n<path>a</path>\n</read_file>"}]}
    return json.dumps([item for content in users for item in ({"role": "user", "content": content}, answer)])


RELEASE = profile("pydantic-ai").version.removeprefix("restated-").partition("-")[0]
NAMED = {
    "a program's own scope": (
        spans({"name": "pydantic-ai", "version": RELEASE}),
        "pydantic-ai",
        f"Its parser is inferred from the instrumentation scope pydantic-ai, version {RELEASE}.",
    ),
    "another release": (
        spans({"name": "pydantic-ai", "version": "9.9"}, {"name": "opentelemetry.instrumentation.flask"}),
        "pydantic-ai",
        f"version 9.9; the profile is that of release {RELEASE}, and another one may read otherwise.",
    ),
    "an instrumentation, whose version is its own": (
        spans({"name": "openinference.instrumentation.crewai", "version": "0.1"}),
        "crewai",
        "the instrumentation scope openinference.instrumentation.crewai, which does not say its version; the profile",
    ),
    "Google's ADK by an instrumentation, whose texts no parser reads": (
        spans({"name": "openinference.instrumentation.google_adk", "version": "0.1"}),
        "native",
        "Its parser is inferred from the instrumentation scope openinference.instrumentation.google_adk.",
    ),
    "LangSmith": (
        run(library="langchain-core", langchain_core_version="1.8.4", runtime="python"),
        "langchain",
        "Its parser is inferred from the library langchain-core of its runs, version 1.8.4.",
    ),
    "a harness by its user agent": (
        archive("claude-cli/2.0.1 (external, cli)"),
        "native",
        "Its parser is inferred from the user agent claude-cli, version 2.0.1.",
    ),
    "the Agents SDK, which writes a space before its version": (
        archive("Agents/Python 0.24.0"),
        "native",
        "Its parser is inferred from the user agent Agents/Python, version 0.24.0.",
    ),
    "Aider's edit format": (
        aider("Main model: gpt-x with diff edit format, infinite output"),
        "aider",
        "the edit format that Aider notes, version 0.85.1; the profile is that of release",
    ),
    "Aider's edit format as it was noted in 2024": (
        aider("Models: gpt-x with diff edit format, weak model gpt-y"),
        "aider",
        "the edit format that Aider notes, version 0.85.1; the profile is that of release",
    ),
    "mini-swe-agent's text models": (
        trajectory(r"```mswea_bash_command\s*\n(.*?)\n```", "2.4.6"),
        "mini-swe-agent",
        "Its parser is inferred from the pattern of commands in its configuration, version 2.4.6.",
    ),
    "Cline's results among texts": (
        task("ACT MODE", "[read_file for 'a'] Result:", "x = 1"),
        "cline",
        "results of calls by Cline among the texts of its messages, which does not say its version; the profile is",
    ),
}
UNNAMED = {
    "Aider, which gets whole files": aider("Main model: gpt-x with whole edit format"),
    "Aider's architect, whose answers nobody parses": aider("Model: gpt-x with architect edit format"),
    "Aider's unified diffs": aider("Model: gpt-x with udiff edit format"),
    "mini-swe-agent before its second version": trajectory(r"```bash\s*\n(.*?)\n```", "1.17.0"),
    "Roo Code": task("<slug>code</slug>", "[read_file for 'a'] Result:", "x = 1"),
    "Cline, whose calls may be native": task("ACT MODE", "go on"),
    "a web framework": spans({"name": "opentelemetry.instrumentation.flask", "version": "1"}),
    "no scope": spans({}),
    "LangSmith's own SDK": run(library="langsmith", runtime="python"),
    "LangChain in JavaScript": run(library="langchain-core", runtime="node"),
    "an SDK that reads no text": archive("OpenAI/Python 2.9.0"),
}


@pytest.mark.parametrize("what", NAMED)
def test_the_program_that_a_log_names_is_the_parser(client: FlaskClient, post: Callable[..., Any], what: str) -> None:
    dump, parser, words = NAMED[what]
    assert post(dump.encode()).status_code == 201
    (session,) = client.get("/api/sessions").json["sessions"]
    assert (session["home"], session["home_source"]) == (parser, "program")
    evidence = client.get(f"/api/session/{session['key']}/home").json["home_evidence"]
    page = client.get(session["url"]).text
    assert words in evidence and evidence in page and "Inferred from the program that its log names." in page
    assert client.put(f"/api/session/{session['key']}/home", json={"home": "direct"}).status_code == 200
    changed = client.get(f"/api/session/{session['key']}/home").json
    assert (changed["home"], changed["home_source"], changed["home_evidence"]) == ("direct", "told", None)


def test_what_names_no_program_leaves_the_parser_unknown(client: FlaskClient, post: Callable[..., Any]) -> None:
    for what, dump in UNNAMED.items():
        (name,) = post(dump.encode()).json["sessions"]
        session = client.get(f"/api/session/{name}").json["session"]
        assert (session["home"], session["home_source"]) == ("unknown", "unknown"), what


def test_what_somebody_says_comes_first(client: FlaskClient, post: Callable[..., Any]) -> None:
    post(spans({"name": "pydantic-ai", "version": RELEASE}).encode(), home="direct")
    (session,) = client.get("/api/sessions").json["sessions"]
    assert (session["home"], session["home_source"]) == ("direct", "told")


def test_that_a_servers_stream_gives_other_calls_is_said_above_the_session(
    client: FlaskClient, post: Callable[..., Any]
) -> None:
    for home, said in (("vllm-hermes", True), ("direct", False), ("vllm-mistral", False)):
        post(archive(home).encode(), home=home)
        (session,) = [session for session in client.get("/api/sessions").json["sessions"] if session["home"] == home]
        assert ("in a stream it gives others on up to" in client.get(session["url"]).text) is said
