"""The program that wrote a log, where the log names it: an instrumentation's scope, a run's library, a user agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from webapp.dumps.values import as_list, as_object, text

KEY = "fencepost.program"
"""the key of a session's `extra` under which the program stands"""
LOOKED_AT = 5
"""entries of a session that are looked at for its program"""
_INSTRUMENTED = re.compile(r"(?:openinference|opentelemetry)\.instrumentation\.(\w+)")
_AGENT = re.compile(r"(?:^| )([\w.-]+(?:/Python)?)/(\d[\w.+-]*)")
_CLINE_RESULT = re.compile(r"\[[a-z_]+(?: for '[^\n]*')?\] Result:")
_CLINE_MODE = re.compile(r"(?m)^# Current Mode\n(?:ACT|PLAN) MODE$")
SCOPES = {
    "pydantic-ai": "pydantic-ai",
    "crewai": "crewai",
    "langchain": "langchain",
    "llama_index": "llamaindex",
    "llamaindex": "llamaindex",
    "smolagents": "smolagents",
    "dspy": "dspy",
    "instructor": "instructor",
    "openai_agents": "openai-agents",
    "gcp.vertex.agent": "google-adk",
    "ai": "vercel-ai",
}
"""programs by the scopes of their own spans, and by the module that an instrumentation is for"""
AGENTS = {
    "pydantic-ai": "pydantic-ai",
    "ai": "vercel-ai",
    "Agents/Python": "openai-agents",
    "KimiCLI": "kimi-cli",
    "claude-cli": "claude-code",
    "codex_cli_rs": "codex",
    "GeminiCLI": "gemini-cli",
    "opencode": "opencode",
}
"""programs by the name in the user agent; an SDK that reads no text, such as OpenAI/Python, names none"""


class Program(NamedTuple):
    """`seen` is what of the log names it; `version` is its own, None where the log has none."""

    name: str
    seen: str
    version: str | None


def by_scope(scope: Any) -> Program | None:
    """By an OpenTelemetry scope: the program's own, or an instrumentation's, whose version is not the program's."""
    name, version = text(as_object(scope).get("name")) or "", text(as_object(scope).get("version"))
    module = _INSTRUMENTED.match(name)
    program = SCOPES.get(module[1] if module else name)
    if program is None:
        return None
    return Program(program, f"the instrumentation scope {name[:80]}", None if module else version)


def by_run(run: dict[str, Any]) -> Program | None:
    """By what a LangSmith run says of the library that traced it; `langsmith` itself traces any program."""
    runtime = as_object(as_object(run.get("extra")).get("runtime"))
    library = text(runtime.get("library")) or ""
    if library not in ("langchain", "langchain-core") or runtime.get("runtime", "python") != "python":
        return None
    version = text(runtime.get("langchain_core_version")) or text(runtime.get("library_version"))
    return Program("langchain", f"the library {library} of its runs", version)


def by_user_agent(headers: Any) -> Program | None:
    """By the user agent among a request's headers, a list of names with values (HAR) or an object."""
    for agent in _user_agents(headers):
        for name, version in _AGENT.findall(agent[:400]):
            if name in AGENTS:
                return Program(AGENTS[name], f"the user agent {name}", version)
    return None


def by_aider(note: str) -> Program | None:
    """By what Aider notes of its model at the start: its edit blocks are read in the edit format diff alone."""
    version = re.search(r"\bAider v(\d[\w.+-]*)", note)
    if not re.search(r"(?m)^(?:Main model|Models?): \S+ with diff(?:-fenced)? edit format\b", note):
        return None
    return Program("aider", "the edit format that Aider notes", version[1] if version else None)


def by_message(message: dict[str, Any]) -> Program | None:
    """By a user's message: Cline gives its model the results of calls as texts where these were tags in a text.

    Roo Code does too, but names its modes otherwise.
    """
    if message.get("role") != "user":
        return None
    texts = [text(as_object(block).get("text")) or "" for block in as_list(message.get("content"))]
    is_cline = any(_CLINE_MODE.search(words) for words in texts if words.startswith("<environment_details>"))
    if is_cline and any(map(_CLINE_RESULT.match, texts)):
        return Program("cline", "results of calls by Cline among the texts of its messages", None)
    return None


def _user_agents(headers: Any) -> Iterator[str]:
    listed = ((as_object(header).get("name"), as_object(header).get("value")) for header in as_list(headers))
    pairs = headers.items() if isinstance(headers, dict) else listed
    for name, value in pairs:
        if isinstance(name, str) and name.lower() == "user-agent":
            yield from filter(None, [text(value[0] if isinstance(value, list) and value else value)])
