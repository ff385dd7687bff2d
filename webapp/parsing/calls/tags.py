"""Native tool calls between tags of the model families: which tags there are, and calls that are written as XML."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from webapp.parsing.decode import decode
from webapp.parsing.edit import Edit, Span
from webapp.parsing.machine.escapes import plain_text
from webapp.parsing.patterns import later

CALL, ANSWER, QUOTED, END = "call", "answer", "quoted", "end"
"""What a tag says about the values behind it."""
_kind = later(
    r"(?P<call>(?:tool|function)(?:_?calls?|s)?|invoke|actions?|python(?:_tag)?|plugin|message|content|calls?|args"
    r"|tool_(?:call_argument|calls_section|sep|code)|tools_prefix)"
    r"|(?P<answer>(?:final_)?answer|final|(?:json_|structured_?)?output|json|response|arguments|parameters)"
    r"|(?P<quoted>(?:(?:tool|function)_(?:result|response)|search_result|result|observation|document|example)s?"
    r"|tool_output|context|doc|input|user|system|schema|source|quote)"
)
TAG = r"<[/A-Za-z|｜◁][^<>\n{}\[\]]{0,60}+>|\[/?[A-Z][A-Z_]{2,30}\]|<!\[CDATA\["
CDATA = "<![CDATA["
_word = later(r"[A-Za-z][\w▁-]*+(?:[:：][\w▁-]++)?")
_NAME = r"(?P<name>[A-Za-z_][\w.:/-]{0,80}+)"
_FAMILIES = (
    ("<function", r"<function={0}>?"),
    (
        "name",
        r"<(?:[\w｜|‖ ]+[:：｜|‖] ?)?(?:function|invoke|tool)\s+name\s*=\s*[\"']?{0}[\"']?\s*>(?:\s*<parameters?>)?",
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
    kind = _kind.fullmatch(name)
    return kind.lastgroup if kind else None


def tool_before(raw: str, at: int) -> str | None:
    """The name of the tool that stands right before a value at `at`, in the markup of any family."""
    before = raw[max(0, at - WIDTH) : at]
    matches = [match for sign, pattern in _with_names if sign in before and (match := pattern.search(before))]
    if match := _named_alone.search(before):
        matches.append(match)
    if not matches:
        return None
    first = min(matches, key=lambda match: match.start())
    return re.sub(r"^functions\.|:\d+$|[.:]+$", "", first["name"])


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


REPAIR = "call_markup"
_PREFIX = r"(?:[A-Za-z][\w-]{0,30}:| ?[｜|‖]{1,2} ?DSML ?[｜|‖]{1,2} ?)?"
_QUOTED_NAME = r"[\"']?(?P<name>[A-Za-z_][\w.:/-]{0,80}+)[\"']?"
OPENING = (
    rf"<{_PREFIX}(?:function|invoke|tool)(?:\s*=\s*|\s+name\s*=\s*){_QUOTED_NAME}\s*>(?=\s*(?:<{_PREFIX}param|</|\]<\]|\Z))"
    r"|<(?:function=|invoke name=\")(?P<odd>[A-Za-z_][\w.:/-]{0,80}+)\"?>(?=\s*<[A-Za-z])"
    r"|<function=(?P<open>[A-Za-z_][\w.:/-]{0,80}+)\s*(?=</function>|<parameter=)"
    r"|<tool_call>\s*(?P<plain>[A-Za-z_][\w.:/-]{0,80}+)(?:<tool_sep>)?+(?=\s*(?:<arg_key>|</tool_call>))"
    r"|<invoke>\s*<tool_name>\s*(?P<old>[A-Za-z_][\w.:/-]{0,80}+)\s*</tool_name>(?:\s*<parameters>)?"
)
"""Where a call in XML begins whose arguments are not JSON."""
_argument = later(
    rf"\s*<{_PREFIX}(?:parameter|param|arg)(?:\s*=\s*|\s+name\s*=\s*)[\"']?(?P<key>[^\s\"'<>]{{1,80}}+)[\"']?"
    r"(?P<rest>[^<>]{0,80})>"
    r"|\s*<arg_key>\s*(?P<glm>[^\s<>\"\\]{1,80}+)\s*(?:</arg_key>\s*<arg_value>|<arg_value>|</arg_key>(?=[^<]{1,2000}</arg_v))"
    r"|\s*<(?!arg_|tool_call>)(?P<old>[A-Za-z_][\w.-]{0,80}+)>"
)
FAR = 20_000
"""So far the closing tag of an argument is looked for that has its name as its tag."""
UNOPENED = rf"<arg_key>|<{_PREFIX}(?:parameter|param)(?:\s*=|\s+name\s*=)"
"""Where an argument begins; what stands outside of a call lacks the call's opening tag."""
_argument_start = later(UNOPENED)
_value_end = later(
    rf"</{_PREFIX}(?:param(?:eter)?|arg)(?:=[\w.-]{{1,80}}+)?>|</arg_value>|<{_PREFIX}param(?:eter)?[=\s]|</{_PREFIX}(?:function|invoke|tool)>"
    r"|</tool_call>|<arg_key>(?![^<>]{0,80}</arg_key>\s*[^\s<])"
)
_behind_value = later(rf"\s*(?:\Z|</|<[|｜]|<arg_key>|<{_PREFIX}(?:parameter|param|arg|function|invoke)[=\s])")
_call_end = later(rf"\s*(?:</parameters>\s*)?</{_PREFIX}(?:function|invoke|tool|tool_call)>")
_cut_argument = later(r"\s*<arg_key>[^<]{0,80}(?:</arg_key>)?\s*(?:<[^<>]*)?\Z")
_tool_line = later(r"(?:\A|\n|>)[ \t]*(?P<name>[A-Za-z_][\w.:/-]{0,80}+)\s*\Z")
_next_tag = later(rf"</|<[|｜]|<{_PREFIX}(?:function|invoke|tool|tool_call)\b")
_calls_end = later(rf"</{_PREFIX}(?:function|invoke|tool|tool_call|(?:function_|tool_)?calls)>")
_wrong_closer = later(r"</(?P<name>[A-Za-z][\w.-]{0,80}+)>\s*\Z")
"""A closing tag at a value's end that is not its own: the value's, where no tag of that name was opened in it."""


class WrittenCall(NamedTuple):
    """A call that is not JSON as written: its tool, span, and the edits that make JSON of it; or why that fails."""

    name: str
    span: Span
    edits: tuple[Edit, ...] = ()
    truncated: bool = False
    problem: str | None = None


def read_xml(raw: str, match: re.Match[str], end: int) -> WrittenCall:
    """The call whose opening tag `match` (of `OPENING`) holds; it ends before `end`."""
    group = next(name for name in ("name", "plain", "old", "odd", "open") if match[name])
    name = Span(*match.span(group))
    opening = Edit(REPAIR, Span(match.start(), name.start), raw[match.start() : name.start], '{"name": "')
    return _read(raw, name, opening, match.end(), end)


def read_unopened(raw: str, first: int, at: int, end: int) -> WrittenCall | None:
    """The call whose first argument begins at `at`, where its opening tag is missing; None where it is one tag only.

    The name of its tool may stand on a line of its own before it, not before `first`; else the call cannot be read.
    """
    line = _tool_line.search(raw, max(first, at - 120), at)
    name = Span(*line.span("name")) if line else Span(at, at)
    call = _read(raw, name, Edit("missing_opener", Span(name.start, name.start), "", '{"name": "'), at, end)
    arguments = len(_argument_start.findall(raw, at, call.span.end))
    if arguments < 2 and (call.truncated or not _calls_end.search(raw, at, call.span.end)):
        return None
    if line or call.problem:
        return call
    return WrittenCall(
        "an unknown tool", call.span, problem="its opening tag is missing, and with it the name of its tool"
    )


def _read(raw: str, name: Span, opening: Edit, at: int, end: int) -> WrittenCall:
    """The call of the tool `name`, whose arguments begin at `at`."""
    edits, start = [opening], opening.span.start
    gap, lead, truncated = name.end, '", "arguments": {', False
    while (argument := _argument.match(raw, at, end)) and _closes(raw, argument, end):
        key = Span(*argument.span(next(key for key in ("key", "glm", "old") if argument[key])))
        value, at, truncated = _value(raw, argument, end)
        text = '"' if _is_text(raw, value, argument) else ""
        edits.append(Edit(REPAIR, Span(gap, key.start), raw[gap : key.start], f'{lead}"'))
        edits.append(Edit(REPAIR, Span(key.end, value.start), raw[key.end : value.start], f'": {text}'))
        edits += plain_text(raw, value, REPAIR) if text else ()
        gap, lead = value.end, f"{text}, "
    closing = _call_end.match(raw, at, end)
    stop = closing.end() if closing else at
    rest = raw[stop : min(end, stop + 200)].lstrip()
    if not closing and ((rest.startswith("<") and ">" not in rest) or _cut_argument.match(raw, stop, end)):
        rest, stop = "", end
    if not closing and rest and not _next_tag.match(rest):
        problem = f"{rest[:20]!r} stands where an argument or its end belongs"
        # behind its closing tag, so that no part of it is taken for an answer
        closing = _calls_end.search(raw, stop, end)
        return WrittenCall(name.of(raw), Span(start, closing.end() if closing else end), problem=problem)
    edits.append(Edit(REPAIR, Span(gap, stop), raw[gap:stop], lead.removesuffix(", ") + "}}"))
    return WrittenCall(name.of(raw), Span(start, stop), tuple(edits), truncated or (not closing and not rest))


def _closes(raw: str, argument: re.Match[str], end: int) -> bool:
    name, at = argument["old"], argument.end()
    return not name or raw.find(f"</{name}>", at, min(end, at + FAR)) >= 0


def _value(raw: str, argument: re.Match[str], end: int) -> tuple[Span, int, bool]:
    """The span of an argument's value, where its closing tag ends, and whether it was cut off."""
    start = argument.end()
    old = argument["old"]
    closing = re.compile(f"</{re.escape(old)}>").search(raw, start, end) if old else _closing_tag(raw, argument, end)
    stop = closing.start() if closing else end
    is_own = closing and raw.startswith("</", stop) and not _calls_end.search(closing[0])
    after = closing.end() if closing and is_own else stop
    begin = start + (raw[start : start + 1] == "\n" and start < stop)
    if raw.startswith(CDATA, begin) and raw.endswith("]]>", begin, stop):
        return Span(begin + len(CDATA), stop - 3), after, False
    if closing and not is_own and (wrong := _wrong_closer.search(raw, max(begin, stop - 100), stop)):
        stop = stop if raw.find(f"<{wrong['name']}", begin, stop) >= 0 else wrong.start()
    last = stop - (stop > begin and raw[stop - 1] == "\n")
    return Span(begin, last), after, closing is None


def _closing_tag(raw: str, argument: re.Match[str], end: int) -> re.Match[str] | None:
    """The tag that ends a value: a closing one that text follows is of the value where another one ends it.

    An opening one that is written in another way than the argument's own is of the value.
    """
    first, passed, start = None, 0, argument.end()
    other = "<parameter name=" if "=" in argument[0].partition(" name=")[0] else "<parameter="
    begin = raw.find("]]>", start, end) if raw.startswith(CDATA, start) else start
    for closing in islice(_value_end.finditer(raw, max(begin, start), end), 100):
        if other.startswith(closing[0]):
            continue
        opener, at = f"<{closing[0][2:-1]}", closing.start()
        if _calls_end.match(closing[0]) and raw.count(opener, start, at) > raw.count(f"</{opener[1:]}", start, at):
            continue
        first, passed = first or closing, passed + 1
        if raw.count("<parameter>", start, closing.start()) + raw.count(other, start, closing.start()) >= passed:
            continue
        if not closing[0].startswith("</") or "arg_" in closing[0] or _calls_end.search(closing[0]):
            return first
        if _behind_value.match(raw, closing.end(), end):
            return closing
    return first


def _is_text(raw: str, value: Span, argument: re.Match[str]) -> bool:
    """Whether a value is a string: what is JSON itself (a number, a list) stays as it is, unless the tag says else."""
    if 'string="true"' in (argument["rest"] or ""):
        return True
    return decode(value.of(raw).strip(), finite=True).failure is not None
