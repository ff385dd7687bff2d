"""Which tags stand round tool calls, answers and quoted input, and which tool a text just before a value names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from webapp.parsing.patterns import later

CALL, ANSWER, QUOTED, END = "call", "answer", "quoted", "end"
"""What a tag says about the values behind it."""
_CALLS = {
    *("tool_call", "tool_calls", "toolcall", "toolcalls", "tool", "tools", "function_call", "function_calls"),
    *("function", "functioncall", "functions", "invoke", "action", "python_tag", "python", "plugin", "tools_prefix"),
    *("tool_call_argument", "tool_calls_section", "tool_sep", "tool_code", "message", "content", "call", "actions"),
}
_ANSWERS = {
    *("answer", "final_answer", "final", "json", "output", "response", "structured_output", "structuredoutput"),
    *("json_output", "args", "arguments", "parameters"),
}
_QUOTES = {
    *("observation", "observations", "context", "document", "documents", "doc", "result", "results", "tool_result"),
    *("tool_results", "tool_response", "tool_responses", "tool_output", "function_result", "function_results"),
    *("function_response", "example", "examples", "input", "user", "system", "schema", "source", "quote"),
    "search_results",
}
TAG = r"<[/A-Za-z|｜◁][^<>\n{}\[\]]{0,60}+>|\[/?[A-Z][A-Z_]{2,30}\]"
_word = later(r"[A-Za-z][\w▁-]*+(?:[:：][\w▁-]++)?")
_NAME = r"(?P<name>[A-Za-z_][\w.:/-]{0,80}+)"
_FAMILIES = (
    ("<function", r"<function={0}>?"),
    (
        "name",
        r"<(?:[\w｜|]+[:：])?(?:function|invoke|tool)\s+name\s*=\s*[\"']?{0}[\"']?\s*>(?:\s*<parameters?>)?",
    ),
    ("TOOL_CALLS", r"\[TOOL_CALLS\]\s*{0}(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?"),
    ("function", r"\bfunctions?\.{0}"),
    ("to=", r"\bto=(?:functions\.)?{0}(?:\s*<\|\w+\|>\s*(?:\w+\s*){{0,3}})*(?:\s*(?:code|json))?"),
    ("sep", r"<[｜|]tool[▁_]sep[｜|]>\s*{0}\s*(?:```(?:json)?)?"),
    ("sep", r"<[｜|]tool[▁_]call[▁_]begin[｜|]>\s*{0}\s*<[｜|]tool[▁_]sep[｜|]>"),
    ("<tool_call>", r"<tool_call>\s*{0}"),
    ("✿", r"✿FUNCTION✿\s*[:：]\s*{0}\s*✿ARGS✿\s*[:：]"),
    ("Action", r"(?:\A|\n)\s*Action\s*:\s*{0}\s*\n\s*Action Input\s*:[\s*`]{{0,10}}(?:json)?"),
    (">>>", r">>>\s*{0}\s*\n"),
    ("recipient", r"<\|recipient\|>\s*{0}\s*<\|content\|>"),
)
_behind_name = r"(?::\d{1,4})?(?:\s*<[｜|][\w▁]+[｜|]>\s*(?:json\b)?)*\s*\Z"
_with_names = tuple((sign, later(pattern.format(_NAME) + _behind_name)) for sign, pattern in _FAMILIES)
"""How each family names a tool before its JSON: a string without which the pattern cannot match, and the pattern."""
_named_alone = later(rf"(?:\A|\n)(?=\w*[_.][a-z]){_NAME}\n{_behind_name}")
WIDTH = 240
"""So many characters before a value are looked at for the tool's name."""


class Mark(NamedTuple):
    """What the tag read last says: its kind, itself, where it ends, and where its closing tag begins (or -1)."""

    kind: str = ""
    tag: str = ""
    end: int = 0
    until: int = -1

    def covers(self, raw: str, at: int, last_end: int) -> bool:
        """Whether a value at `at` is the tag's: before its closing tag, else close behind it or the last value."""
        if not self.kind or self.until > 0:
            return at < self.until
        last = max(self.end, last_end)
        return at - last < 160 and "\n\n" not in raw[last:at].strip("\n")


@lru_cache(maxsize=256)
def kind_of(tag: str) -> str | None:
    """What a tag (with its brackets) says about what follows: a call, an answer, quoted input, an end, or nothing."""
    word = _word.search(tag)
    if not word:
        return None
    name = word[0].replace("▁", "_").lower()
    name = re.split("[:：]", name)[-1] if name.split(":")[0] not in ("http", "https") else ""
    if tag[1] == "/" or re.search(r"(?:^|_)(?:end|eom_id|eot_id|im_end|suffix)(?:_|$)", name):
        return END
    name = re.sub(r"^(?:start|begin)_|_(?:begin|start)$", "", name)
    if name in _CALLS or name in ("args", "tool_calls", "calls"):
        return CALL
    return ANSWER if name in _ANSWERS else QUOTED if name in _QUOTES else None


def tool_before(raw: str, at: int) -> str | None:
    """The name of the tool that stands right before a value at `at`, in the markup of any family."""
    before = raw[max(0, at - WIDTH) : at]
    matches = [match for sign, pattern in _with_names if sign in before and (match := pattern.search(before))]
    if _may_stand_alone(before) and (match := _named_alone.search(before)):
        matches.append(match)
    if not matches:
        return None
    first = min(matches, key=lambda match: match.start())
    return re.sub(r"^functions\.|:\d+$|[.:]+$", "", first["name"])


def _may_stand_alone(before: str) -> bool:
    """Whether a tool's name may be a line of its own: the last one, or the last one before special tokens."""
    line = before.rstrip().rpartition("\n")[2]
    return "|>" in before or "｜>" in before or (" " not in line and ("_" in line or "." in line))


def tool_of(value: object) -> str | None:
    """The tool that a decoded call names itself."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    for name in (value.get("name"), value.get("tool"), value.get("tool_name"), function):
        if isinstance(name, str):
            return name
    return tool_of(function)


def tools_of(value: object) -> list[str]:
    """The tools that a call, or a list of calls, names."""
    calls = value[:20] if isinstance(value, list) else [value]
    return [name for name in map(tool_of, calls) if name]


def note_of(raw: str, start: int, value: object, mark: Mark, note: str | None) -> str | None:
    """The note of the value at `start`: the fence or the tag (`mark`) round it, and the tool that it calls."""
    plain_tag = mark.tag[-1:] == ">" and mark.tag[1:-1].isidentifier() and not raw[mark.end : start].strip()
    tool = None if plain_tag else tool_before(raw, start)
    if mark.kind:
        note = note or mark.tag
        tool = tool or (", ".join(tools_of(value)) if mark.kind == CALL else None)
    return "; ".join(part for part in (note, tool and f"calls {tool}") if part) or None
