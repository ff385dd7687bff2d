"""Tool calls that a model wrote as text: whether a value is one, and which of them ever gave a result."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from webapp.findings.rule import TurnView

_NAMES = ("tool", "name", "tool_name", "function", "function_name", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "tool_input", "action_input", "tool_args", "params")
_call_pattern = re.compile(
    r"""["'](?:tool|tool_name|function|name|action)["']\s{0,9}:\s{0,9}["'][\w.:/-]{1,80}["']\s{0,9},\s{0,9}"""
    r"""["'](?:arguments|parameters|args|tool_input|action_input)["']\s{0,9}:"""
)
_named_call_pattern = re.compile(
    r"""\bto=functions\.([\w.-]{1,80})
    | <\|tool_call_begin\|>\s?(?:functions\.)?([\w.-]{1,80}):\d
    | \[TOOL_CALLS\]([\w.-]{1,80})(?:\[ARGS\]|\{)
    | <function=([\w.-]{1,80})[>{]
    | <\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?([\w.-]{1,80})[<\n]
    | \]minimax\[>\[<invoke\ name="([\w.-]{1,80})">
    | ^Action:\ ?([\w.-]{1,80})\s?\nAction\ Input:""",
    re.MULTILINE | re.VERBOSE,
)
"""calls whose name stands outside of their JSON: harmony, Kimi, Mistral, Llama, DeepSeek, MiniMax, ReAct"""
_result = re.compile(
    r"\W{0,9}(?:[\w.][\w.-]{0,79}[^\w.]{1,9}){0,2}\w{0,40}?(?:output|result|observation|response|returned)s?\b|\s{0,9}\{",
    re.IGNORECASE,
)
_tag = re.compile(r"^<([\w.-]{1,80})>\s{0,9}<[\w.-]{1,80}>", re.MULTILINE)
_made_up = re.compile(r"^(?:Observation:|<(?:function_result|tool_response|tool_result)s?>)", re.MULTILINE)
"""a result that a model wrote itself, behind its call"""
_BEGINS = ("Thought:", "Action:")
_example = re.compile(r"\b(?:like this|as in|e\.g\.|example|looks? like)\b[^\n]{0,60}\n*(?:```\w*\n)?$", re.I)
_goes_on = re.compile(r"(?:\s*```)?\s*[`\w]")
_LOOKED_AT = 100_000
_MOST_BRANCHES = 1000


def is_call(value: Any, home: str) -> bool:
    """Whether a decoded value is a tool call: a name and its arguments; under Windlass's parsers a "tool" is enough."""
    if not isinstance(value, dict):
        return False
    if home.startswith("windlass") and isinstance(value.get("tool"), str):
        return True
    inner = value.get("function")
    if isinstance(inner, dict):
        return isinstance(inner.get("name"), str) and "arguments" in inner
    return any(isinstance(value.get(name), str) for name in _NAMES) and any(name in value for name in _ARGUMENTS)


def calls(values: Iterable[Any], home: str) -> list[dict[str, Any]]:
    """The calls that the values of a trace hold, in lists and under "tool_calls" too."""
    found: list[dict[str, Any]] = []
    for value in values:
        if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
            value = value["tool_calls"]
        found += [item for item in (value if isinstance(value, list) else [value]) if is_call(item, home)]
    return found


def _name(call: dict[str, Any]) -> str:
    """The name of a call, without what gpt-oss, Kimi and Gemini put before it."""
    inner = call.get("function")
    names = [inner.get("name")] if isinstance(inner, dict) else [call.get(key) for key in _NAMES]
    name = next((name for name in names if isinstance(name, str)), "")
    return name.removeprefix("functions.").removeprefix("default_api.").removeprefix("default_api:")


def _declares(turn: TurnView, names: Iterable[str]) -> bool:
    """Whether the request that a turn answers declares a tool of these names, and wants no JSON as its answer."""
    return "response_format" not in (turn.declared or {}) and not set(declared_tools(turn)).isdisjoint(names)


def declared_tools(turn: TurnView) -> list[str]:
    """The names of the tools that the request of a turn declares, without those that stand for a server's."""
    tools = filter(
        lambda tool: isinstance(tool, dict) and not tool.get("open"), (turn.declared or {}).get("tools") or ()
    )
    return [tool["name"] for tool in tools if isinstance(tool.get("name"), str)]


def _is_example(raw: str, start: int, end: int) -> bool:
    """Whether what stands there in a text is shown as an example, and the text goes on behind it."""
    return _goes_on.match(raw, end) is not None and _example.search(raw[max(0, start - 200) : start]) is not None


def looks_like_call(raw: str) -> bool:
    """Whether a text that nobody can decode holds the name and the arguments of a call."""
    return _call_pattern.search(raw, 0, _LOOKED_AT) is not None


def named_calls(raw: str) -> list[str]:
    """The names of the calls that a text ends with, whose markup has them outside of what is read as JSON."""
    if raw.rstrip()[-1:] not in ("}", ">", "]") and ("```" in raw or not _made_up.search(raw, 0, _LOOKED_AT)):
        return []  # prose goes on behind what it quotes
    return [next(filter(None, found)) for found in _named_call_pattern.findall(raw, 0, _LOOKED_AT)]


def tagged_calls(raw: str, tools: Collection[str]) -> list[str]:
    """Those of `tools` that a text calls by tags of their names, with a tag for each argument."""
    return [name for name in _tag.findall(raw, 0, _LOOKED_AT) if name in tools and f"</{name}>" in raw] if tools else []


@dataclass(slots=True)
class WrittenCalls:
    """The calls of one response: how many it holds, how many its home profile read, and how many ran."""

    position: int
    count: int
    repairs: tuple[str, ...]
    sure: bool
    """False where the home profile reads them too, so that only native calls elsewhere make them lost"""
    declared: bool = False
    """whether the request declares their tool, so that they should have come as native calls"""
    called: int = 0
    answered: int = 0

    @property
    def lost(self) -> int:
        return max(0, self.count - max(self.called, self.answered))


@dataclass(slots=True)
class CallTracker:
    """Follows each sounding: the calls last written there, and whether a result came since."""

    home: str
    open: dict[int | None, WrittenCalls] = field(default_factory=dict)
    waiting: set[int | None] = field(default_factory=set)
    """soundings in which a call was lost and no result came since"""
    unsure: set[int | None] = field(default_factory=set)
    """those of which only native calls elsewhere in the session make that sure"""
    native: bool = False
    """whether a call came by the provider's interface"""
    lost: WrittenCalls | None = None
    """those of a response before this turn's, where it is now sure that some of them were lost"""

    def see(self, turn: TurnView) -> None:
        """Take a turn in."""
        self.lost, branch = None, turn.sounding
        if turn.kind == "response":
            before = self.open.pop(branch, None)
            if before is not None and before.lost:
                (self.waiting if before.sure else self.unsure).add(branch)
                self.lost = before
            if (written := self._written(turn)) is not None and len(self.open) < _MOST_BRANCHES:
                self.open[branch] = written
            return
        if branch in self.open:
            self._answer(self.open[branch], turn)
        self.native = self.native or turn.kind == "tool_call"
        if turn.kind == "tool_result":
            self.waiting.discard(branch)
            self.unsure.discard(branch)

    def rest(self) -> list[WrittenCalls]:
        """The last responses of all soundings, those with lost calls."""
        return [written for written in self.open.values() if written.lost]

    def _answer(self, written: WrittenCalls, turn: TurnView) -> None:
        if turn.kind == "tool_call":
            written.called += 1
        elif turn.kind == "tool_result":
            written.answered += 1
        elif turn.kind == "prompt" and turn.raw and _result.match(turn.raw):
            written.answered = written.count

    def _written(self, turn: TurnView) -> WrittenCalls | None:
        ours = turn.ours
        home = turn.home or ours  # where the parser is unknown, it may have read what `fencepost` reads
        if turn.tool_calls or home is None or ours is None or turn.raw is None:
            return None
        names = [_name(call) for call in calls(ours.values, self.home)]
        named = [] if names else named_calls(turn.raw) or tagged_calls(turn.raw, declared_tools(turn))
        names = names or named
        count = len(names) or int(not ours.values and ours.verdict == "failed" and looks_like_call(turn.raw))
        read = [ours.attempts[index].span for index in ours.chosen]
        if not count or (read and _is_example(turn.raw, read[0].start, read[-1].end)):
            return None
        reads = home is ours and (named or ours.values)  # who is unknown may read what has its name outside of JSON
        read_count = count if reads or (named and home.values) else len(calls(home.values, self.home))
        declared = home is ours and _declares(turn, names)
        ends = turn.stop == "complete" and "\nFinal Answer:" in turn.raw[:_LOOKED_AT] and turn.raw.startswith(_BEGINS)
        made_up = ends and _made_up.search(turn.raw, 0, _LOOKED_AT) is not None
        repairs = tuple(edit.repair for index in ours.chosen for edit in ours.attempts[index].edits)
        called = 0 if home is ours else read_count
        return WrittenCalls(turn.position, count, repairs, declared or made_up or read_count < count, declared, called)


_ERROR_LOOKED_AT, _LONGEST_ERROR = 300, 4000
_error = re.compile(
    r"""\s{0,9}(?:
      <(?:tool_use_)?error(?:_details)?>|the\ tool\ execution\ failed\b
    | \[error\]|\[?(?:tool\ |validation\ |execution\ )?errors?\b\]?\s?[:!]|\w{0,60}Error:
    | (?:an\ )?error\ (?:occurred|(?:invoking|executing|calling|running|parsing|while)\b)|mcp\ error\b
    | failed\ to\ |[a-z_]{1,40}(?:\ [a-z_]{1,40}){0,4}\ failed(?:\ with\ [^:\n]{1,60})?:
    | \d+\ validation\ errors?(?::|\ for\b)|traceback\ \(most|missing\ (?:required|argument|parameter)
    | invalid\ (?:arguments?|parameters?|input|tool)|(?:unknown|unavailable|no\ such)\ (?:tool|function)
    | the\ (?:[\w.-]{1,60}\ tool\ was\ called\ with\ invalid|arguments\ provided\ to\ the\ tool\ are\ invalid)\b
    | (?:model\ tried\ to\ call\ unavailable\ tool|tool\ invoke\ error:|no\ sufficiently\ similar\ match\ found)
    | (?:tool|function)\ \W?[\w.:/-]{1,80}\W?\ (?:not\ found|does\ not\ exist|is\ not\ )
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_validation = re.compile(
    r"must have required propert|validation errors?\b(?! *s?: *0)|InputValidationError|Input should be|Field required|"
    r"\b(?:unknown|no such) (?:tool|function)\b|is not a valid tool|failed to parse structured output|MCP error -32602|"
    r"required parameter .{0,60} is missing|missing required|missing field `|Invalid (?:JSON )?input for tool|"
    r"is a required property|is not of type '|Invalid arguments for tool|does not match (?:the )?(?:required )?schema",
    re.IGNORECASE,
)
_by_the_user = re.compile(
    r"\buser (?:does(?:n't| not) want|rejected|denied|declined|interrupted|cancelled)|tool execution aborted", re.I
)
_varying = re.compile(
    r"(?:[A-Za-z]:)?[\w.~-]{0,80}(?:[/\\][\w.@+~-]{1,200})+|\b[0-9a-f]{8}-[0-9a-f-]{20,36}\b|\b\w{0,40}\d[\w.,:-]{0,60}"
)


def is_rejection(turn: TurnView) -> bool:
    """Whether a tool's result is an error: its log or the result itself marks it so, or it begins like one.

    A person's refusal is none.
    """
    raw = turn.raw or ""
    text = raw[:_ERROR_LOOKED_AT]
    if not text.strip() or turn.is_error is False:
        return False
    is_error = turn.is_error or _error.match(text) is not None or _is_error_object(raw)
    return is_error and _by_the_user.search(text) is None


def _is_error_object(raw: str) -> bool:
    """Whether a result is a small JSON object that says of itself that it is an error, in words."""
    if len(raw) > _LONGEST_ERROR or raw.lstrip()[:1] != "{":
        return False
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    if said.get("isError") is True or said.get("is_error") is True:
        return True
    is_marked = said.get("success") is False or said.get("ok") is False or said.get("status") == "error"
    if len(said) == 1 and isinstance(only := next(iter(said.values())), str) and _error.match(only):
        return True  # a result under its tool's name
    words = [said.get(key) for key in ("error", *(("message", "detail", "reason") if is_marked else ()))]
    return any(word and isinstance(word, str | dict) for word in words)


def is_validation_error(turn: TurnView) -> bool:
    """Whether a result rejects the call's name or arguments."""
    return is_rejection(turn) and _validation.search((turn.raw or "")[:_ERROR_LOOKED_AT]) is not None


def skeleton(text: str) -> str:
    """The beginning of an error without its paths, ids and numbers."""
    return " ".join(_varying.sub("#", text[:_ERROR_LOOKED_AT]).split())
