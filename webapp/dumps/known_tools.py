"""Files of tools that no format reads, by their tables, keys or first words; how records of a program's log begin."""

from __future__ import annotations

import re

from webapp.dumps.head import DumpHead

_OWN = "Fencepost's own database: to see what it holds, run `fencepost serve` with its folder"
_PYTEST = "pytest's output: have the test log its messages as JSON"
_ORG = "an org file, of gptel or another: save the chat as Markdown"
_PAGE = "a page, in which no element says who speaks"
_TABLE = "a table of Markdown: save it as CSV, whose columns are read"
_FENCED = "a document with a chat in a code fence, perhaps as an example: save what is in the fence by itself"
_SILENT = (_OWN, _PYTEST, _ORG, _PAGE, _TABLE, _FENCED)
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
    ("Claude Code's history of what was typed", set(), ("display", "pastedContents", "project")),
    ("the description of an interface", set(), ("openapi", "paths")),
    ("a collection of Postman's", set(), ("info", "item")),
    ("Django's fixtures", set(), ("model", "pk", "fields")),
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
        re.compile(r"[\s\S]{0,300}Crew Execution Started"),
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
