"""The program that wrote a log, where it is named; tools whose files no format reads; how records of a log begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

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


_OWN = "Fencepost's own database: to see what it holds, run `fencepost serve` with its folder"
_PYTEST = "pytest's output: have the test log its messages as JSON"
_ORG = "an org file, of gptel or another: save the chat as Markdown"
_PAGE = "a page, in which no element says who speaks"
_SQL = "a dump as SQL: load it (sqlite3 chats.db < FILE), and read the database, or its table as CSV"
_JSON5 = "JSON5: turn it into JSON (npx json5 FILE)"
_TABLE = "a table of Markdown: save it as CSV, whose columns are read"
_FENCED = "a document with a chat in a code fence, perhaps as an example: save what is in the fence by itself"
_SILENT = (_OWN, _PYTEST, _ORG, _PAGE, _TABLE, _FENCED, _SQL, _JSON5)
"""what more often than not holds no chat, or none that is not stored"""
CLOUDWATCH = "CloudWatch's events; the log in them: jq -r '.events[].message'"
_RPC = "JSON-RPC (MCP, a language server, part of the Agent Client Protocol), in which no model answers"
_HARBOR = ("task_name", "trial_name", "agent_info")
OWN_TABLES = {"dump_session", "turn_contract"}
"""by which Fencepost's own database is known"""
_TOOLS: tuple[tuple[str, set[str], tuple[str, ...]], ...] = (
    (_OWN, OWN_TABLES, ()),
    ("Chainlit's data layer", {"threads", "steps", "elements"}, ()),
    ("n8n's database", {"execution_entity", "execution_data"}, ()),
    ("Flowise's database", {"chat_message", "chat_flow"}, ()),
    ("Langflow's database", {"flow", "vertex_build"}, ()),
    ("Cherry Studio's backup: export its topics as Markdown, which is read", set(), ("indexedDB",)),
    ("Rasa's tracker", set(), ("sender_id", "slots", "events")),
    ("Phoenix' database", {"span_annotations", "spans"}, ()),
    ("MLflow's database", {"experiments", "runs", "trace_info"}, ()),
    ("Google ADK's session service", {"events", "sessions"}, ()),
    ("requests-cache's database, whose bodies are packed", {"responses", "redirects"}, ()),
    ("KoboldAI Lite's story: log what its API answers", set(), ("gamestarted", "actions")),
    ("Warp's database, whose answers are packed", {"ai_queries", "agent_tasks"}, ()),
    ("a text thread of Zed's: copy it as Markdown with who speaks", set(), ("zed", "text", "messages")),
    ("a context of LlamaIndex' workflows", set(), ("workers", "state", "is_running")),
    ("DynamoDB's JSON, whose values name their types: export it without them", set(), ("Item",)),
)
"""tools whose files are known by their tables, or by their keys, and that none of the formats reads"""
_ANSWERLESS: tuple[tuple[str, set[str], tuple[str, ...]], ...] = (
    ("Harbor's result of a trial, which holds no answer: read its agent/trajectory.json", set(), _HARBOR),
    ("Terminal-Bench's results, which hold no answer: read its agent-logs", set(), ("n_resolved", "pass_at_k")),
    (_RPC, set(), ("jsonrpc", "method", "params")),
    ("Agno's sessions, whose runs stand beside them in agno_runs", set(), ("session_id", "session_data", "agent_data")),
    (CLOUDWATCH, set(), ("events", "nextForwardToken")),
    (CLOUDWATCH, set(), ("events", "searchedLogStreams")),
    ("Haystack's pipeline", set(), ("components", "connections")),
    ("JSON Patch, as LangChain's astream_log gives: log astream_events instead", set(), ("ops",)),
    ("a notebook, in whose beginning nothing is of a model", set(), ("nbformat", "cells")),
    ("a JSON schema", set(), ("$schema", "properties")),
    ("npm's description of a package", set(), ("name", "version", "scripts")),
    ("npm's description of a package", set(), ("name", "version", "dependencies")),
    ("Claude Code's history of what was typed", set(), ("display", "pastedContents", "project")),
    ("the description of an interface", set(), ("openapi", "paths")),
    ("a collection of Postman's", set(), ("info", "item")),
    ("Django's fixtures", set(), ("model", "pk", "fields")),
    ("issues as GitHub or GitLab gives them, in which people write", set(), ("title", "body", "state", "labels")),
    ("issues as GitHub or GitLab gives them, in which people write", set(), ("title", "description", "iid")),
    ("HumanEval's problems", set(), ("canonical_solution", "entry_point")),
    ("Google ADK's tests, which hold what is expected and no answer", set(), ("query", "expected_tool_use")),
)
_RECORD = "record them with `fencepost`'s recorder (docs/recorder.md), or a proxy's HAR"
_TEXT_TOOLS = (
    (
        f"an SDK's debug log, which holds no answers: {_RECORD}",
        re.compile(r"[\s\S]{0,500}(?:openai|anthropic)\._base_cl"),
    ),
    (
        "what LangChain's chains print, which holds no answers: use set_debug(True)",
        re.compile(r"\s*.{0,9}> Entering new"),
    ),
    (
        "what the Agents SDK prints of a result: log json.dumps(result.to_input_list())",
        re.compile(r"[\s\S]{0,300}\bRunResult(?:Streaming)?:\r?\n- "),
    ),
    (
        "CrewAI's console: give it an output_log_file that ends in .json",
        re.compile(r"[\s\S]{0,300}Crew Execution Started|\s*# Agent: [^\n]+\n## "),
    ),
    (
        "what codex exec prints: run it with --json, or read what stands in ~/.codex/sessions",
        re.compile(r"(?:\[[^\]\n]{10,40}\] )?OpenAI Codex v|user\n[\s\S]{1,4000}?\ncodex\n"),
    ),
    ("Ollama's console: log what its API answers", re.compile(r"\s*>>> (?!import |from |print|def |\w+ ?[=(.])")),
    ("llama.cpp's console: log what llama-server answers", re.compile(r"\s*== Running in interactive mode")),
    ("SGLang's log: log what its API answers", re.compile(r"[\s\S]{0,9000}(?:Receive|Finish): obj=GenerateReqInput")),
    ("the Agents SDK's console exporter, which leaves data out: add a processor", re.compile(r"\[Exporter\] Export ")),
    ("a chat as gpt-engineer kept it", re.compile(r"\s*System\r?\n\r?\n[\s\S]{0,20000}?\n-{20,}\s+(?:Human|AI)\r?\n")),
    (_ORG, re.compile(r"#\+\w+:")),
    (
        _TABLE,
        re.compile(r"(?:(?!\|)[^\n]{0,400}\n){0,20}\|(?i:[^\n]*\b(?:role|assistant|response|answer)\b).*\n\|[ :|-]+\n"),
    ),
    (
        _FENCED,
        re.compile(
            r"(?ms)\A.{0,9000}?^```[^\n]*\n\W{0,4}(?:User|Human|You)\b(?:(?!^```).){0,2000}?^\W{0,4}(?:Assistant|AI)\b"
        ),
    ),
    (_PYTEST, re.compile(r"={10,} test session starts")),
    (
        _SQL,
        re.compile(
            r"(?i)(?:(?:--|/\*|SET|DROP|PRAGMA|BEGIN|SELECT|ALTER|LOCK|USE|\\)[^\n]*\n|\s)*"
            r"(?:CREATE TABLE|INSERT INTO|COPY \w[^\n]* FROM stdin)"
        ),
    ),
    (_JSON5, re.compile(r"(?:\s|//[^\n]*\n|/\*[\s\S]{0,2000}?\*/)*+[{\[][\s{\[]*[A-Za-z_$][\w$]*:\s")),
    (_PAGE, re.compile(r"\s*<(?:!doctype html|html)", re.I)),
)
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


def looks_like(head: DumpHead) -> str:
    """Of which tool it is, as a sentence; empty where none is known."""
    keys = {str(key) for sample in head.objects for key in sample}
    texts = [tool for tool, begins in _TEXT_TOOLS if head.shape == "text" and begins.match(head.text)]
    columns = set(head.names)
    known = [tool for tool, tables, names in _TOOLS if (tables and tables <= columns) or (names and {*names} <= keys)]
    tools = [*texts, *known]
    return f" This looks like {tools[0]}." if tools else ""


def is_of_chats(head: DumpHead) -> bool:
    """Whether the tool that it is of keeps what somebody says."""
    said = looks_like(head)
    return bool(said) and not any(tool in said for tool in _SILENT)


def answerless(keys: set[str]) -> str | None:
    """What a file is that holds no answer, by its keys; None where none is known."""
    return next((tool for tool, _, names in _ANSWERLESS if set(names) <= keys), None)
