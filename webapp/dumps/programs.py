"""The program that wrote a log, where it is named; tools whose files no format reads; how records of a log begin."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import Any, NamedTuple

from webapp.dumps.json_path import at
from webapp.dumps.records import Entry, Problem
from webapp.dumps.source import DumpHead
from webapp.dumps.values import as_list, as_object, text

KEY = "fencepost.program"
"""the key of a session's `extra` under which the program stands"""
LOOKED_AT = 5
"""entries of a session that are looked at for its program"""
_INSTRUMENTED = re.compile(r"(?:openinference|opentelemetry)\.instrumentation\.(\w+)")
_AGENT = re.compile(r"(?:^| )(Agents/Python(?= )|[\w.-]+(?=/))[/ ](\d[\w.+-]*)")
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
    "google_adk": "google-adk",
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


def program_in(entries: Iterable[Entry | Problem], about: Mapping[str, Any]) -> dict[str, Any]:
    """What a session's `extra` says of the program that the first of its entries names, or what stands `about` them."""
    found = (program for entry in entries if not isinstance(entry, Problem) for program in _named_by(entry[1]))
    program = next(filter(None, found), None) or _by_configuration(about)
    return {KEY: program._asdict()} if program else {}


def _named_by(entry: dict[str, Any]) -> Iterator[Program | None]:
    yield _by_scope(entry.get("scope"))
    yield _by_run(entry)
    yield _by_user_agent(as_object(entry.get("request")).get("headers"))
    yield _by_message(entry)
    yield _by_aider(text(entry.get("text")) or "") if entry.get("kind") == "note" else None


def _by_configuration(about: Mapping[str, Any]) -> Program | None:
    """By the pattern with which mini-swe-agent finds commands, in the configuration beside its messages."""
    if not str(at(about, "info.config.model.action_regex")[0]).startswith("```mswea_bash_command"):
        return None
    seen = "the pattern of commands in its configuration"
    return Program("mini-swe-agent", seen, text(at(about, "info.mini_version")[0]))


def _by_scope(scope: Any) -> Program | None:
    """By an OpenTelemetry scope: the program's own, or an instrumentation's, whose version is not the program's."""
    name, version = text(as_object(scope).get("name")) or "", text(as_object(scope).get("version"))
    module = _INSTRUMENTED.match(name)
    program = SCOPES.get(module[1] if module else name)
    if program is None:
        return None
    return Program(program, f"the instrumentation scope {name[:80]}", None if module else version)


def _by_run(run: dict[str, Any]) -> Program | None:
    """By what a LangSmith run says of the library that traced it; `langsmith` itself traces any program."""
    runtime = as_object(at(run, "extra.runtime")[0])
    library = text(runtime.get("library")) or ""
    if library not in ("langchain", "langchain-core") or runtime.get("runtime", "python") != "python":
        return None
    version = text(runtime.get("langchain_core_version")) or text(runtime.get("library_version"))
    return Program("langchain", f"the library {library} of its runs", version)


def _by_user_agent(headers: Any) -> Program | None:
    """By the user agent among a request's headers, a list of names with values (HAR) or an object."""
    for agent in _user_agents(headers):
        for name, version in _AGENT.findall(agent[:400]):
            if name in AGENTS:
                return Program(AGENTS[name], f"the user agent {name}", version)
    return None


def _by_aider(note: str) -> Program | None:
    """By what Aider notes of its model at the start: its edit blocks are read in the edit format diff alone."""
    version = re.search(r"\bAider v(\d[\w.+-]*)", note)
    if not re.search(r"(?m)^(?:Main model|Models?): \S+ with diff(?:-fenced)? edit format\b", note):
        return None
    return Program("aider", "the edit format that Aider notes", version[1] if version else None)


def _by_message(message: dict[str, Any]) -> Program | None:
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


OWN_TABLES = {"dump_session", "turn_contract"}
"""by which Fencepost's own database is known"""
SETTINGS = (".conf", ".cfg", ".ini", ".env", ".properties", ".toml")
"""names of files in which a name before a colon is no speaker's"""
TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)")
BEGIN = re.compile(
    rf"{TIME.pattern}"
    r"|(?:\[|[IWEF]\d{4} )?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b"
    r"|[DIWEF], \[\d{4}-|(?:trce|dbug|info|warn|fail|crit): "  # Ruby's, .NET's
    r"|\d\d-\d\d \d\d:\d\d:\d\d|(?:START|END|REPORT) RequestId: "  # Android's, Lambda's
    r"|\d{1,3}(?:\.\d{1,3}){3} \S{1,40} \S{1,40} \["
    r"|\[\w{1,20}/(?:start|end|error)\]|(?:timestamp|time|ts)=['\"]?\d{4}"
)
"""how a record begins; lines that begin otherwise go on with the one before them"""
LINES = ("message", "msg", "log", "textPayload", "text", "MESSAGE")
LEVELS = {"level", "levelname", "severity", "stream", "record", "PRIORITY"}
"""where a program's log as JSON has its lines, and what it says beside them"""


@cache
def _tools() -> list[dict[str, Any]]:
    """Tools whose files no format reads, and how they are told: see unread.toml."""
    tools: list[dict[str, Any]] = tomllib.loads(File(__file__).with_name("unread.toml").read_text("utf-8"))["tools"]
    return tools


def _tool_of(head: DumpHead) -> dict[str, Any] | None:
    shown = {"tables": set(head.names), "keys": head.told}
    for tool in _tools():
        begins = "begins" in tool and re.match(tool["begins"], head.text)
        if begins or any(kind in tool and found.issuperset(tool[kind]) for kind, found in shown.items()):
            return tool if "answerless" not in tool else None
    return None


def looks_like(head: DumpHead) -> str:
    """Of which tool it is, as a sentence; empty where none is known."""
    tool = _tool_of(head)
    return f" This looks like {tool['is']}." if tool else ""


def is_of_chats(head: DumpHead) -> bool:
    """Whether the tool that it is of keeps what somebody says."""
    tool = _tool_of(head)
    return tool is not None and "silent" not in tool


def answerless(keys: set[str]) -> str | None:
    """What a file is that holds no answer, by its keys; None where none is known."""
    return next((tool["is"] for tool in _tools() if "answerless" in tool and keys.issuperset(tool["keys"])), None)
