"""What stands around what is said in a chat as text: colours, boxes, times, numbers; and how speakers are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.values import WORDS, is_speech

PANEL = re.compile(r"^[╭┌┏╔][─━═]+ ?([^─━═╮┐┓╗\n]{1,60}+)[─━═]+[╮┐┓╗][ \t]*\r?$", re.M)
_DRAWN = re.compile(
    r"^(?:[│┃║] ?((?:[ \t]*+(?![│┃║][ \t]*+\r?$)[^ \t\n])*+)[ \t]*+[│┃║]|[╰└┗╚][─━═][^\n]*)[ \t]*(\r?)$", re.M
)
"""a box that a terminal drew, with a name in its upper edge, and its other lines"""
_FRONT = re.compile(r"\A---\r?\n(?:[^\n]{0,400}\n){1,60}?---\r?\n")
"""what stands in YAML before a note"""
_FENCE = re.compile(
    r"\s*+(?P<fence>`{3,}|~{3,})[^\n`]{0,40}\n(?P<said>(?:(?!^(?P=fence))[\s\S])*+)^(?P=fence)\s*+", re.M
)
"""a code fence around all of a text"""
COLOURS = re.compile(r"\x1b\[[\d;]*m")
BUFFERED = re.compile(r"^(?>[^\n]*?(?=\[\{'name': '))(?P<calls>[^\n]*'type': 'tool_call'\}\])[ \t\r]*$", re.M)
"""the calls that LangChain's `get_buffer_string` prints behind what is said"""
_CALLS = re.compile(r"### Tool calls\r?\n\s*(?P<calls>(?:- \*\*[^\n]*\n(?:    [^\n]*(?:\n|\Z))*)+)\s*")
_CALL = re.compile(r"- \*\*(?P<name>[^*\n]+)\*\*: `(?P<id>[^`\n]*)`[^\n]*\n(?P<args>(?:    [^\n]*(?:\n|\Z))*)")
_ARGUMENT = re.compile(r"    (?P<key>[^:\n]+): `(?P<value>[^\n]*)`[ \t\r]*(?:\n|\Z)")
"""the calls that `llm logs` writes before what is said"""
_CLOCK = re.compile(r"^\[\d{4}-\d\d-\d\d[T ][\d:.]{8,20}\][ \t]*\r?$", re.M)
"""when DSPy asked, before each call of its history"""
_REACT = re.compile(r"^(Question|Observation): ?([\s\S]*?)\n(?=Thought:)", re.M)
"""what a ReAct agent is told; all between is what its model wrote"""
_WHOLE = r"(?:(?!^(?:\*\*Tool: |_Thinking:_|---\r?$))[\s\S])"
_THOUGHT = re.compile(rf"^_Thinking:_\r?\n({_WHOLE}*+)(?=^\*\*Tool: )", re.M)
_TOOL = re.compile(
    r"^\*\*Tool: [\w.-]{1,80}\*\*[ \t]*\r?\n"
    rf"(?:\s*+\*\*(?:Input|Output|Error):\*\*\r?\n```{_WHOLE}*?\n```(?=[ \t\r]*$)){{0,2}}",
    re.M,
)
"""what OpenCode's export has of a thought before a call, and of a call; SpecStory has both in tags"""
_BLOCK = re.compile(
    r"^(?:[^\w\s#*`]{1,3} )?\*\*Tool (?:Use|Command)(?::\*\*|\*\*:?)(?: \(?`[^`\n]{0,200}`\)?){0,2}[ \t]*\r?\n"
    r"(?:[ \t\r]*\n)*+(?P<fence>`{3,8})[^\n`]*\n"
    r"(?:(?!^(?P=fence))[\s\S])*+^(?P=fence)[ \t]*\r?$|^_Tools? used: [^\n]{1,200}_[ \t]*\r?$",
    re.M,
)
_MUSED = re.compile(r"^💭 \*\*Thinking:\*\*[ \t]*\r?\n((?:(?!^(?:---|<sub>|#|💭))[\s\S])*+)(?=---|<sub>)", re.M)
"""the same in Amp's and Gemini CLI's exports, and others' of Claude Code"""
RESULT = re.compile(r"^(?:[^\w\s#*`]{1,3} )?\*\*Tool (?:Result|Response|Error)(?::\*\*|\*\*(?=:| \(`))", re.M)
"""from where on what stands below a user's name came of calls"""
_ASIDE = re.compile(
    r"^<(?:(?P<think>think)>\s*<details>|tool-use\b"
    r"|(?P<folds>details)>\s*<summary>[^\w<\n]{0,4}(?:Thinking|Thoughts?|Reasoning)\b[^<\n]{0,60}</summary>)",
    re.M,
)
"""what SpecStory prints of thoughts and calls among what is said, and what others fold"""
_LOGGED = re.compile(
    r"^# \d{4}-\d\d-\d\dT[\d:]{8} {4}\w+: .{0,200}\s+Model: \*\*.{0,200}$|^## Token usage\s{1,4}\d[^\n]*$", re.M
)
_PRINTED_BY_LLM = re.compile(r"^## (Prompt|System|Response|Tool)(?=\r?$)", re.M)
_RESULTS = re.compile(r"^## Prompt\s{1,4}-- none --\s(?:(?!^## )[\s\S])*?^### Tool results$", re.M)
"""what `llm logs` prints above each prompt and below an answer; what stands in place of a prompt before results"""
_AT = r"(?:\[\d[^\]\n]{9,40}\] )?"
_CODEX = re.compile(
    rf"(?:[^\n]{{0,200}}\n){{0,3}}?{_AT}OpenAI Codex v[^\n]*\n-{{8}}\n(?:[a-z][^\n]*\n){{1,20}}?-{{8}}\n"
)
_CODEX_SAYS = {
    "User": r"(?:user|User instructions:)",
    "Reasoning": "thinking",
    "Assistant": "codex",
    "Tool": r"(?:exec(?: [^\n]* in [^\n]*)?|(?:apply_patch|file update|patch)[^\n]*|(?:mcp|web search|hook): [^\n]*"
    r"|tool [^\n]*\([^\n]*|plan update|(?<=\] )[^\n]{1,400} (?:succeeded|exited -?\d+) in \d+m?s:)",
    "Info": r"(?:tokens used[^\n]*|ERROR: [^\n]*|warning: [^\n]*)",
}
_CODEX_MARKS = [(re.compile(rf"^{_AT}({line})[ \t]*\r?$", re.M), who) for who, line in _CODEX_SAYS.items()]
"""what `codex exec` prints: its settings between rules, and who speaks on a line of its own"""
PERPLEXITY = re.compile(r"\s*<img src=\"https://r2cdn\.perplexity\.ai/[^>\n]*>\s*(?=# )")
_PERPLEXED = re.compile(r"(?:\A|\n---\r?\n\s*)# ([^\n]+)\n")
_CITED = re.compile(r"^<span style=\"display:none\">[^\n]*\n|^<div align=\"center\">⁂</div>", re.M)
"""Perplexity's export: what was asked as a heading, and what an answer cites below it"""


def with_plain_ends(written: str) -> str:
    """The text with the line ends of a model, where all are those that Windows writes: then they are the file's."""
    is_of_file = "\r\n" in written and written.count("\r\n") == written.count("\n")
    return written.replace("\r\n", "\n") if is_of_file else written


def undecorated(written: str) -> str:
    """The text without colours, and without what DSPy's history and `llm logs` say before each prompt."""
    written = with_plain_ends(written)
    if "\x1b[" in written or _CLOCK.match(written.lstrip()):
        written = _CLOCK.sub("", COLOURS.sub("", written))
    written = _FRONT.sub("", written)
    written = whole["said"] if (whole := _FENCE.fullmatch(written)) else written
    if PANEL.search(written):
        return _DRAWN.sub(r"\1\2", PANEL.sub(r"## \1\n", written))
    if (told := _told(written)) is not None:
        return told
    for thought in (_MUSED, _THOUGHT):
        written = thought.sub(r"<think><details>\n\1</details></think>\n\n", written)
    for call in (_BLOCK, _TOOL):
        written = call.sub(r"<tool-use>\g<0></tool-use>", written)
    if _REACT.match(written.lstrip()):
        return _REACT.sub(r"=== \1 ===\n\2\n\n=== Assistant ===\n", written)
    if _LOGGED.match(written):
        return _PRINTED_BY_LLM.sub(r"=== \1 ===", _LOGGED.sub("", _RESULTS.sub("## Tool", written)))
    return written


def _told(written: str) -> str | None:
    """What `codex exec` prints, or Perplexity exports, with who speaks between signs; None of another text."""
    if _CODEX.match(written):
        for mark, who in _CODEX_MARKS:
            written = mark.sub(rf"=== {who} ===\n" + (r"\1" if who in ("Tool", "Info") else ""), written)
        return f"=== Info ===\n{written}"
    if logo := PERPLEXITY.match(written):
        asked = _PERPLEXED.sub(r"\n=== User ===\n\1\n\n=== Assistant ===\n", written[logo.end() :])
        return _CITED.sub(r"=== Info ===\n\g<0>", asked)
    return None


def with_calls(raw: str) -> dict[str, Any] | None:
    """The message that is printed with its calls, behind what is said or before it; None where there are none."""
    if buffered := BUFFERED.search(raw):
        calls = from_repr(buffered["calls"])
        return {"role": "assistant", "content": raw[: buffered.start("calls")], "tool_calls": calls}
    if not (listed := _CALLS.match(raw)):
        return None
    marks = _CALL.finditer(listed["calls"])
    calls = [{"name": mark["name"], "id": mark["id"], "args": _arguments(mark["args"])} for mark in marks]
    return {"role": "assistant", "content": raw[listed.end() :], "tool_calls": calls}


def _arguments(written: str) -> dict[str, Any] | str:
    """Arguments by their names, as JSON or as the texts that they are; as it is written where it is more."""
    marks = list(_ARGUMENT.finditer(written))
    if "".join(mark[0] for mark in marks) != written:
        return written
    values = {mark["key"]: json_or_none(mark["value"]) for mark in marks}
    return {mark["key"]: mark["value"] if values[mark["key"]] is None else values[mark["key"]] for mark in marks}


def parts_of(raw: str, role: str | None) -> Iterator[tuple[str, str]]:
    """What is `said`, and the thoughts, calls and results among it, which a user's name stands above, too."""
    came = RESULT.search(raw) if role == "user" else None
    spans = list(_asides(raw)) if role == "assistant" else [(came.start(), len(raw))] if came else []
    for (start, end), before in zip([*spans, (len(raw), len(raw))], [0, *(end for _, end in spans)], strict=True):
        if spans and (said := RULE.sub("", raw[before:start].strip()).strip()):
            yield "said", said
        if end > start:
            yield "result" if came else "tool_calls" if raw.startswith("<tool", start) else "thinking", raw[start:end]


def _asides(raw: str) -> Iterator[tuple[int, int]]:
    """Where thoughts and calls stand in what is said; a tag that nothing closes is of what is said."""
    at, unclosed = 0, set[str]()
    while opening := _ASIDE.search(raw, at):
        closing = f"</{opening['think'] or opening['folds'] or 'tool-use'}>"
        end = -1 if closing in unclosed else raw.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            at = opening.end()
        else:
            at = end + len(closing)
            yield opening.start(), at


USER, MODEL = (WORDS[key].replace("\n", "") for key in ("chat_user", "chat_model"))
_NUMBER = re.compile(r"\d[\d.,]*")
_MEASURED = r"(?i:[\w ]{0,20}(?:time|latency|took|duration|elapsed))\W{1,4}\d[\d.,]* ?(?:m?s|sec\w*)"
"""how long an answer took, as a program writes it below"""
_FIELD = re.compile(r"^([^\W\d_][\w ]{0,30}): \S[^\n]*\Z", re.M)
"""what it says of an exchange in the line above it"""
_BOLD_FIELD = re.compile(rf"^\*\*(?!(?:{USER}|{MODEL}):)([A-Z][\w ]{{1,20}}):\*\* \S", re.M)
"""what it says of each answer, as its state"""
_VALUE = re.compile(r"[^\W\d_][\w ]{0,30}: ?(\S.*)")
_RULE_AROUND = re.compile(r"^([=*#-])\1{19,}$", re.M)
"""between which a program writes what it is, and at the end what came of it"""
_BEGUN = r"[-=*]{3,} ?[^\n]{0,60}\d{4}-\d\d-\d\d[^\n]{0,40}[-=*]{3,}(?=\s*\Z)"
"""that a session began, with the time"""
_CREDIT = (
    r"(?:-{3,}|\*{3,})\s+[*_<>a-z]{0,5}(?:Powered|Exported|Generated) (?:by|from|with|on|using|via) [^\n]*(?=\s*\Z)"
)
"""what an exporter writes of itself at the end"""
_ENDED = r"(?i:end of (?:the |this )?(?:conversation|chat|session|transcript|dialogue|log))\W{0,9}(?=\s*\Z)"


def framing_of(before: str, written: str = "", least: int = 0) -> re.Pattern[str]:
    """What stands around what is said: again the lines before the first speaks, with other numbers or values; times.

    Of what is `written` also the fields that are there as often as answers: the `least` that they are.
    """
    lines = [_NUMBER.split(line.strip()) for line in before.split("\n")]
    numbered = (parts for parts in lines if len(parts) > (1 if parts[0][:1] in ("#", "*") else 2))
    again = "|".join(_NUMBER.pattern.join(map(re.escape, parts)) for parts in numbered) or "(?!)"
    fields = Counter(_BOLD_FIELD.findall(written)) if least > 1 else {}
    again += "".join(rf"|\*\*{re.escape(name)}:\*\* [^\n]*" for name, count in fields.items() if count >= least)
    again += r"|={3,}[^\n]*={3}" if re.match(r"={3,} .*={3}", before) else ""
    if rule := _RULE_AROUND.search(before):
        again += rf"|{re.escape(rule[0])}\r?\n(?:[^\n]+\n){{1,12}}{re.escape(rule[0])}(?=\s*\Z)"
    if field := _FIELD.search(before):
        again += rf"|(?:[-=_*]{{3,}}\s+)?{re.escape(field[1])}: [^\n]*(?=\s*\Z)"
    again += f"|{_BEGUN}|{_CREDIT}" + (f"|{_ENDED}" if before else "")
    return re.compile(rf"^(?:{_MEASURED}(?=\s*(?:[-=_*]{{3,}}\s*)?(?:\Z|{again}))|(?:{again})[ \t]*\r?$)", re.M)


FENCED = re.compile(r"^```[^\n]*\n[\s\S]*?^```", re.M)
HASHED = re.compile(
    r"^```(?i:markdown|md|te?xt|python|py|ba?sh|ya?ml)[ \t]*\r?\n(?:(?!^```)[\s\S])*+^```[ \t]*\r?$", re.M
)
"""a fence of what has headings, or comments that look like these, of its own"""
_SUB = r"\s{0,40}+<sub>[^\n]{0,400}</sub>"
_LINE = r"(?:-{3,}|\*{3,}|_{3,})[ \t]*+"
RULE = re.compile(
    rf"\A\s*+-{{3,}}[ \t]*+\r?\n(?=[ \t]*\r?\n)"
    rf"|(?:{_SUB})?(?:(?:^|(?:\r?\n){{1,41}}+){_LINE}){{1,2}}(?:{_SUB})?\Z|{_SUB}\Z"
)
"""the rule that ends what is said, or that an exporter draws below the name, and what it took, in small letters"""
_MOMENT = (
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4})?[, T]{0,3}"
    r"\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,9})?(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
)
_STAMP = re.compile(rf"\s*+[*_(\[`]{{0,3}}{_MOMENT}[*_)\]`]{{0,3}}[ \t]*\r?\n(?:[*_]{{0,3}}Model: [^\n]{{1,80}}\n)?")
_WRAPPED = re.compile(r"\s*(?:`{3,}|~{3,})(?:markdown|md|te?xt)?[ \t]*\r?\n")


def are_listed(marks: list[re.Match[str]], written: str) -> bool:
    """Whether two names are of several that stand so: headings, or as in a glossary, where nobody asks in the first."""
    mark, asked = marks[0][0].strip(), written[marks[0].end() : marks[-1].start()].strip()
    alike = r"[^\W\d_][^:*#\n]{0,40}".join(map(re.escape, re.split(r"[^\W\d_][^:*#\n]*", mark, maxsplit=1)))
    may_be = len(marks) == 2 and (mark[:1] == "#" or not set("?\n") & set(asked))
    return may_be and len(re.findall(f"^{alike}", written, re.M)) > 2


def body_of(mark: re.Match[str], written: str, around: re.Pattern[str]) -> str:
    """What is said below a name, without what stands around it."""
    content = around.sub("", written.rstrip()).strip("\r\n").rstrip()
    return re.sub(r"(?m)^> ?", "", content) if mark[0].startswith(">") else content


def after_stamps(written: str, starts: list[int]) -> list[int]:
    """Where begins what is said, below the time, and the model, that stand under the name of each who speaks."""
    begun = [stamp.end() for start in starts if (stamp := _STAMP.match(written, start))]
    return begun if len(begun) == len(starts) else starts


def unfenced(bodies: list[str]) -> list[str]:
    """What is said, without the fence that a program put around all of each."""
    fences = [fence for body in bodies if _WRAPPED.match(body) and (fence := _FENCE.fullmatch(body))]
    return [fence["said"].rstrip() for fence in fences] if len(fences) == len(bodies) else bodies


def framed(marks: list[re.Match[str]], sides: list[str], before: str, written: str) -> list[re.Match[str]]:
    """Those below the line that stands above the first, where it stands above others, too; each with one answer."""
    if not (field := _FIELD.search(before)):
        return marks
    above = re.compile(rf"^{re.escape(field[1])}: [^\n]*\n(?={re.escape(marks[0][0])})", re.M)
    begins = {match.end() for match in above.finditer(written)}
    kept: list[re.Match[str]] = []
    for mark, side in zip(marks, sides, strict=True):
        if mark.start() in begins or (side != sides[0] and kept and kept[-1].start() in begins):
            kept.append(mark)
    return kept if len(begins) > 1 else marks


def are_fields(written: str) -> bool:
    """Whether all lines are fields of a record, as `User : root` and `Serial : 5`, and none a sentence."""
    lines = [line for line in written.split("\n") if line.strip()]
    values = [match[1] for line in lines if (match := _VALUE.match(line))]
    return 2 < len(lines) == len(values) and not any(map(is_speech, values))


TEMPLATE = re.compile(
    r"<\|im_start\|>(?P<who>\w{1,20})\r?\n|<\|start_header_id\|>(?P<name>\w{1,20})<\|end_header_id\|>\s*"
    r"|<start_of_turn>(?P<turn>user|model)\r?\n|<\|(?P<role>user|assistant|system)\|>\s?"
    r"|(?P<asks>\[INST\])\s?|(?P<answers>\[/INST\])\s?"
)
"""how models' templates write who speaks: ChatML's, Llama's, Gemma's, Phi's and Zephyr's, Mistral's"""
TOKENS = re.compile(
    r"<\|(?:im_end|end|eot_id|eom_id|end_of_text|endoftext|begin_of_text)\|>|<end_of_turn>"
    r"|\A\s*<(?:s|bos)>|<(?:/s|eos)>\s*(?:<s>\s*)?\Z"
)
"""what they write around it"""
KINDS = (
    {"System": "system", "Reasoning": "thinking", "Info": "event"}
    | dict.fromkeys(("Instruction", "Input", "Question"), "user")
    | dict.fromkeys(("Tool", "Function", "Function Response", "Ipython", "Observation"), "tool")
)


def turns_of_names(names: list[str], least: int) -> list[str]:
    """The two who speak in turn, the first of whom asks, by a known name; none where a third is named as often."""
    turns = [name for name in names if name in names[:2]]
    is_turned = len(turns) >= least and turns == (turns[:2] * len(turns))[: len(turns)]
    is_alone = all(4 * count <= len(turns) for name, count in Counter(names).items() if name not in turns)
    return turns[:2] if is_turned and is_alone and re.fullmatch(USER, turns[0], re.I) else []
