"""What to do about a dump of no known shape: what it is, and a command that was tried on its beginning."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import replace
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.dumps.formats.mapped import plugin as mapped
from webapp.dumps.formats.responses import RULE, Separated
from webapp.dumps.head import DumpHead, look
from webapp.dumps.log_records import BEGIN, LEVELS, LINES
from webapp.dumps.messages.printed import printed_objects
from webapp.dumps.outline import guessed, guessed_tables
from webapp.dumps.records import BadDump, Turn, UnknownFormat
from webapp.dumps.source import Source
from webapp.dumps.values import as_object

_KINDS = {
    "object": "a JSON object",
    "array": "JSON (a list)",
    "lines": "JSON (one value a line)",
    "parquet": "a Parquet file",
}
_BINARY = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f\ud800-\udfff]")
_SENTENCE = re.compile(r"\w[^\w\n]*\s\S*\w")
_NO_ANSWER = re.compile(
    r"[0-9a-fA-F-]{16,}|\S+://\S+|[\w./\\-]+\.\w{1,5}|[\d\s:.TZ+/-]+|[^\s{\[']{1,12}|[A-Z]\w{0,20} [A-Z]\w{0,20}"
    r"|[A-Za-z0-9_.-]{1,80}|[\w.-]+/[\w.-]*(?: [\w.-]+/[\w.-]*)*|/[\w./ -]+"
    r"|(?:@|def |class |import |async def )[\s\S]+|[1-5]\d\d [\w /;=-]{1,60}"
)
"""hashes, addresses, paths, versions, times, single words, names of two, code, what a server says of a page"""
_NO_TEXT = re.compile(r"name|provider|version|type|class|status|level|state|__\w+__", re.I)
"""names under which no answer stands"""
_OF_NODE = re.compile(
    r"\s*(?:[A-Z]\w{1,60} \{\s*\""
    r"|(?:\w{1,60} )?[\[{]\s*(?:\w{0,60} ?\{\s*)?[A-Za-z_$][\w$]{0,60}: (?!$))"
)
_DRAWN = re.compile(r"[\u2500-\u259f]{4}")
_NAMED = (
    "user|human|you|me|assistant|ai|bot|agent|model|system|prompt|response|chatgpt|claude|gemini"
    "|(?:github )?copilot|thought|observation|final answer"
)
_SPOKEN = re.compile(rf"^\W{{0,6}}(?:{_NAMED})\b[^\n]{{0,40}}[:：]", re.I | re.M)
_SIDE = re.compile(_NAMED, re.I)
_LABEL = re.compile(r"^(?:<([\w .-]{1,30})>|([^\W\d_][\w .-]{0,30}):) (?=\S)", re.M)
"""who speaks before each line of a chat, whoever they are: one of them by a name that is known"""
_SPEAKERS = ("from", "author", "sender", "speaker", "direction", "who", "userId")
"""keys that say who wrote what stands beside them"""
_BOLD = re.compile(r"^(?:\*\*|__)[^*_\n]{1,40}(?:\*\*|__)[^\n]{0,20}$", re.M)
"""a name in bold, alone on its line"""
_TOLD = re.compile(
    r'"(?:role|messages?|content|prompt|completion|responses?|answer|output|conversations?|sender|text)"\s*:'
)
_REPR = re.compile(
    r"\s*(?:[\[{(]?(?:[\[{]?'[^'\n]{0,80}'[:,\]]|[\w.]{1,80}\(\w{1,40}=)|\{<[A-Z]\w{0,80}\.|\[[A-Z]\w{1,60}\(['\"]"
    r"|\w{1,40}=['\"][^'\"\n]{0,80}['\"] \w{1,40}=)"
)
_MARKUP = re.compile(
    r"\s*<[\w!?]|[^\n,]{1,40}(?:,[^\n,]{1,40}){2,40}\r?\n|\[?\d{4}-\d\d-\d\d[T ]|={8}"
    r"|\$ \S|>>> |== |\d+:\d*[:{]|[\w-]{1,60}:[ \t]*\r?\n\s*-? ?\w"
)
"""XML, a table's first line, a program's log, a shell's, or YAML"""
_LINE, _OBJECT_LINE = re.compile(r"^\S", re.M), re.compile(r"^\{", re.M)
_CLOUDWATCH = "CloudWatch's events; the log in them: jq -r '.events[].message'"
_HARBOR = ("task_name", "trial_name", "agent_info")
_TOOLS: tuple[tuple[str, set[str], tuple[str, ...]], ...] = (
    ("Chainlit's data layer", {"threads", "steps", "elements"}, ()),
    ("n8n's database", {"execution_entity", "execution_data"}, ()),
    ("AnythingLLM's database", {"workspace_chats"}, ()),
    ("Flowise's database", {"chat_message", "chat_flow"}, ()),
    ("Langflow's database", {"flow", "vertex_build"}, ()),
    ("LangChain's cache", {"full_llm_cache"}, ()),
    ("n8n's execution", set(), ("mode", "workflowData")),
    ("Cherry Studio's backup", set(), ("indexedDB",)),
    ("Rasa's tracker", set(), ("sender_id", "slots", "events")),
    ("Phoenix' database", {"span_annotations", "spans"}, ()),
    ("MLflow's database", {"experiments", "runs", "trace_info"}, ()),
    ("Google ADK's session service", {"events", "sessions"}, ()),
    ("Letta's agent file", set(), ("agents", "blocks", "tools")),
    ("requests-cache's database, whose bodies are packed", {"responses", "redirects"}, ()),
    ("a context of LlamaIndex' workflows", set(), ("workers", "state", "is_running")),
)
"""tools whose files are known by their tables, or by their keys, and that none of the formats reads"""
_ANSWERLESS: tuple[tuple[str, set[str], tuple[str, ...]], ...] = (
    ("Harbor's result of a trial, which holds no answer: read its agent/trajectory.json", set(), _HARBOR),
    ("Terminal-Bench's results, which hold no answer: read its agent-logs", set(), ("n_resolved", "pass_at_k")),
    ("JSON-RPC (MCP, the Agent Client Protocol), whose answers come in pieces", set(), ("jsonrpc", "method", "params")),
    ("Agno's sessions, whose runs stand beside them in agno_runs", set(), ("session_id", "session_data", "agent_data")),
    (_CLOUDWATCH, set(), ("events", "nextForwardToken")),
    (_CLOUDWATCH, set(), ("events", "searchedLogStreams")),
    ("Haystack's pipeline", set(), ("components", "connections")),
    ("JSON Patch, as LangChain's astream_log gives: log astream_events instead", set(), ("ops",)),
    ("a JSON schema", set(), ("$schema", "properties")),
    ("HumanEval's problems", set(), ("canonical_solution", "entry_point")),
    ("Google ADK's tests, which hold what is expected and no answer", set(), ("query", "expected_tool_use")),
)
_RECORD = "record them with `fencepost`'s recorder (docs/recorder.md), or a proxy's HAR"
_TEXT_TOOLS = (
    ("aichat's log", re.compile(r"# CHAT:")),
    (
        f"an SDK's debug log, which holds no answers: {_RECORD}",
        re.compile(r"[\s\S]{0,500}(?:openai|anthropic)\._base_cl"),
    ),
    (
        "what LangChain's chains print, which holds no answers: use set_debug(True)",
        re.compile(r"\s*.{0,9}> Entering new"),
    ),
    (
        "CrewAI's console: give it an output_log_file that ends in .json",
        re.compile(r"[\s\S]{0,300}Crew Execution Started"),
    ),
    ("Ollama's console: log what its API answers", re.compile(r"\s*>>> (?!import |from |print|def |\w+ ?[=(.])")),
    ("llama.cpp's console: log what llama-server answers", re.compile(r"\s*== Running in interactive mode")),
    ("a page, in which no element says who speaks", re.compile(r"\s*<(?:!doctype html|html)", re.I)),
)
_LONGEST_SHOWN = 60


class _Tried(NamedTuple):
    arguments: str
    answers: int
    shown: list[str]


def refused(head: DumpHead) -> UnknownFormat:
    """The error for a dump that no format recognises."""
    if head.led and 2 * len(_OBJECT_LINE.findall(head.text)) < len(_LINE.findall(head.text)):
        head = replace(head, shape="text")
    keys = {str(key) for sample in head.objects for key in sample}
    bare = next((tool for tool, _, names in _ANSWERLESS if set(names) <= keys), None)
    lines = [_what_it_is(head), *([f"This looks like {bare}."] if bare else _what_to_do(head))]
    return UnknownFormat("\n".join(lines), speaks=_speaks(head))


def _what_it_is(head: DumpHead) -> str:
    if head.shape == "empty":
        return "The log begins with more empty space than is looked at."
    if _is_printed(head):
        return "What Python prints of an object is in the log, not its JSON: log its model_dump_json(), or json.dumps."
    if not any(head.objects) and _OF_NODE.match(head.text):
        return "What Node.js prints of an object is in the log, not its JSON: log its JSON.stringify(…)."
    if head.shape == "text" and _DRAWN.search(head.text):
        words = "The log is what a program drew in a terminal, boxes and lines: have it log its messages as JSON."
        return f"{words}{_looks(head)}"
    if head.shape == "text":
        return f"The log is not JSON: it begins with {head.text.lstrip()[:20]!r}.{_looks(head)}"
    if head.samples and all(isinstance(sample, list) for sample in head.samples):
        return "The log is JSON of lists, as LangGraph streams of several modes are: log each mode's values as objects."
    keys = sorted({str(key) for sample in head.objects for key in sample})
    if head.shape == "sqlite":
        words = f"The log is a SQLite file of no known shape (its tables: {_listed(head.names)})."
    else:
        words = f"The log is {_KINDS.get(head.shape, 'a file')} of no known shape (its keys: {_listed(keys)})."
    return f"{words}{_looks(head)}"


def _looks(head: DumpHead) -> str:
    """Of which tool it is, as a sentence; empty where none is known."""
    keys = {str(key) for sample in head.objects for key in sample}
    texts = [tool for tool, begins in _TEXT_TOOLS if head.shape == "text" and begins.match(head.text)]
    tools = [*texts, *(tool for tool, tables, names in _TOOLS if _is_of(tables, names, set(head.names), keys))]
    return f" This looks like {tools[0]}." if tools else ""


def _is_printed(head: DumpHead) -> bool:
    return bool(_REPR.match(head.text)) or (head.shape == "text" and any(printed_objects(head.text)))


def _is_of(tables: set[str], names: tuple[str, ...], columns: set[str], keys: set[str]) -> bool:
    return bool(tables and tables <= columns) or bool(names and set(names) <= keys)


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:8]) or "none"


def _what_to_do(head: DumpHead) -> list[str]:
    """A command and what it gave; else where it is said what is read."""
    tried = _of_text(head) if head.shape == "text" else _of_mappings(head)
    if (
        tried is None
        and head.shape == "text"
        and not _is_printed(head)
        and not _DRAWN.search(head.text)
        and not _OF_NODE.match(head.text)
        and _SENTENCE.search(head.text)
        and not _MARKUP.match(head.text)
        and not _speaks(head)
        and len(set(_BOLD.findall(head.text))) < 2
        and not _BINARY.search(head.text)
    ):
        command = f"fencepost ingest --format responses {shlex.quote(head.filename)}"
        return ["What can be read: fencepost formats, and docs/formats.md.", f"If all of it is one response: {command}"]
    if tried is None and head.shape == "text" and BEGIN.match(head.text):
        words = "Of a program's log such records are read: `… prompt: …`, `… response: …`, or JSON with such keys."
        return [words, "What else can be read: fencepost formats, and docs/formats.md."]
    if tried is None:
        return ["What can be read: fencepost formats, and docs/formats.md."]
    how = "as responses between its lines of --- or ===" if "--format" in tried.arguments else "by a mapping"
    quoted = " and ".join(repr(text) for text in tried.shown)
    answers = f"{tried.answers:,} answer{'s' * (tried.answers != 1)}"
    return [
        f"Read it {how}: fencepost ingest {tried.arguments} {shlex.quote(head.filename)}",
        f"Tried on its beginning, this gives {answers}, as {quoted}. What else can be read: fencepost formats.",
    ]


def _of_text(head: DumpHead) -> _Tried | None:
    """Responses between lines of --- or ===, of which there must be several."""
    rules = sum(bool(RULE.fullmatch(line)) for line in head.text.splitlines())
    if not rules or _BINARY.search(head.text) or _DRAWN.search(head.text) or head.text.startswith("# CHAT:"):
        return None
    tried = _tried(Separated(), head.text.encode("utf-8", "surrogateescape"), "--format separated", head.filename)
    return tried if tried is not None and tried.answers > 1 else None


def _of_mappings(head: DumpHead) -> _Tried | None:
    for mapping in guessed_tables(head) if head.shape == "sqlite" else [guessed(head)]:
        if "raw" not in mapping or _holds_none(mapping["raw"], head) or _mixes(mapping, head):
            continue
        fields = [name for name in ("table", "each", "raw", "role", "prompt", "session", "model") if name in mapping]
        arguments = " ".join(f"--map {shlex.quote(f'{name}={mapping[name]}')}" for name in fields)
        tabled = {name: path for name, path in mapping.items() if name != "table"}
        objects = head.items[mapping["table"]] if "table" in mapping else head.objects
        written = "\n".join(map(jsontext.dumps, objects)) if head.shape != "object" else jsontext.dumps(head.document)
        tried = _tried(mapped.by(tabled), f"{written}\n".encode("ascii"), arguments, head.filename)
        if tried is not None:
            return tried
    return None


def _mixes(mapping: dict[str, str], head: DumpHead) -> bool:
    """Whether several speak under the same key, and nothing that the mapping names tells them apart."""
    if "role" in mapping or "prompt" in mapping or "each" in mapping:
        return False
    rows = [item for listed in head.items.values() for item in listed if isinstance(item, dict)] or head.objects
    speakers = ({str(row.get(key)) for row in rows} for key in _SPEAKERS if all(key in row for row in rows))
    return any(len(names) > 1 for names in speakers)


def _holds_none(path: str, head: DumpHead) -> bool:
    """Whether a name, or the lines of a program's log as JSON, stand there."""
    if _NO_TEXT.fullmatch(re.split(r"[.\]]", path)[-1]):
        return True
    keys = {str(key) for sample in head.objects for key in sample}
    return path.removeprefix("$.") in LINES and bool(keys & LEVELS)


def _tried(kind: Any, beginning: bytes, arguments: str, filename: str) -> _Tried | None:
    """What a reading of the beginning gives; None where that is nothing that a model may have said."""
    source = Source(io.BytesIO(beginning), filename)
    try:
        turns = [record for record in kind.read(source, look(source)) if isinstance(record, Turn)]
    except BadDump:
        return None
    answers = [turn.raw.strip() for turn in turns if turn.kind == "response" and turn.raw and turn.raw.strip()]
    spoken = [text for text in answers if not _NO_ANSWER.fullmatch(text)]
    if not spoken or 2 * len(spoken) < len(answers):
        return None
    users = {"user", "User", "human", "Human", "prompter"}  # they say of a text that no model wrote it
    if any(users.intersection(map(str, as_object(turn.source).values())) for turn in turns if turn.kind == "response"):
        return None
    return _Tried(arguments, len(answers), [_short(text) for text in spoken[:2]])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else line[: _LONGEST_SHOWN - 1] + "…"


def _speaks(head: DumpHead) -> bool:
    """Whether somebody seems to speak in it, so that passing it over in a folder is worth a word."""
    if _looks(head):
        return True
    if head.shape == "sqlite":
        return bool(_TOLD.search(jsontext.dumps(head.items))) or _of_mappings(head) is not None
    if head.shape == "text":
        names = [match[1] or match[2] for match in _LABEL.finditer(head.text)]
        is_chat = len(names) > len(set(names)) > 1 and any(map(_SIDE.fullmatch, names)) and "</" not in head.text
        return is_chat or len({match[0].lower() for match in _SPOKEN.finditer(head.text)}) > 1
    return len(set(_TOLD.findall(head.text))) > 1 or _of_mappings(head) is not None
