"""What stands around what is said in a chat as text: colours, boxes, times, numbers; and how speakers are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.values import is_speech

PANEL = re.compile(r"^[╭┌┏╔][─━═]+ ?([^─━═╮┐┓╗\n]{1,60}+)[─━═]+[╮┐┓╗][ \t]*\r?$", re.M)
_DRAWN = re.compile(r"^(?:[│┃║] ?(.*?)[ \t]*[│┃║]|[╰└┗╚][─━═][^\n]*)[ \t]*(\r?)$", re.M)
"""a box that a terminal drew, with a name in its upper edge, and its other lines"""
_FRONT = re.compile(r"\A---\r?\n(?:[^\n]{0,400}\n){1,60}?---\r?\n")
"""what stands in YAML before a note"""
_FENCE = re.compile(
    r"\s*+(?P<fence>`{3,}|~{3,})[^\n`]{0,40}\n(?P<said>(?:(?!^(?P=fence))[\s\S])*+)^(?P=fence)\s*+", re.M
)
"""a code fence around all of a text"""
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
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
_ASIDE = re.compile(r"^<(?:(?P<think>think)>\s*<details>|tool-use\b)", re.M)
"""what SpecStory prints of thoughts and calls among what is said"""
_LOGGED = re.compile(
    r"^# \d{4}-\d\d-\d\dT[\d:]{8} {4}\w+: .{0,200}\s+Model: \*\*.{0,200}$|^## Token usage\s{1,4}\d[^\n]*$", re.M
)
_PRINTED_BY_LLM = re.compile(r"^## (Prompt|System|Response|Tool)(?=\r?$)", re.M)
_RESULTS = re.compile(r"^## Prompt\s{1,4}-- none --\s(?:(?!^## )[\s\S])*?^### Tool results$", re.M)
"""what `llm logs` prints above each prompt and below an answer; what stands in place of a prompt before results"""


def with_plain_ends(written: str) -> str:
    """The text with the line ends of a model, where all are those that Windows writes: then they are the file's."""
    is_of_file = "\r\n" in written and written.count("\r\n") == written.count("\n")
    return written.replace("\r\n", "\n") if is_of_file else written


def undecorated(written: str) -> str:
    """The text without colours, and without what DSPy's history and `llm logs` say before each prompt."""
    written = with_plain_ends(written)
    if "\x1b[" in written or _CLOCK.match(written.lstrip()):
        written = _CLOCK.sub("", _COLOURS.sub("", written))
    written = _FRONT.sub("", written)
    written = whole["said"] if (whole := _FENCE.fullmatch(written)) else written
    if PANEL.search(written):
        return _DRAWN.sub(r"\1\2", PANEL.sub(r"## \1\n", written))
    if "**Tool: " in written:
        thoughts = _THOUGHT.sub(r"<think><details>\n\1</details></think>\n\n", written)
        return _TOOL.sub(r"<tool-use>\g<0></tool-use>", thoughts)
    if _REACT.match(written.lstrip()):
        return _REACT.sub(r"=== \1 ===\n\2\n\n=== Assistant ===\n", written)
    if _LOGGED.match(written):
        return _PRINTED_BY_LLM.sub(r"=== \1 ===", _LOGGED.sub("", _RESULTS.sub("## Tool", written)))
    return written


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


def asides(raw: str) -> Iterator[tuple[int, int]]:
    """Where thoughts and calls stand in what is said; a tag that nothing closes is of what is said."""
    at, unclosed = 0, set[str]()
    while opening := _ASIDE.search(raw, at):
        closing = "</think>" if opening["think"] else "</tool-use>"
        end = -1 if closing in unclosed else raw.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            at = opening.end()
        else:
            at = end + len(closing)
            yield opening.start(), at


USER = (
    r"User|USER|Human|You|You said|Me|Prompt|User Input|用户|用戶|人类|ユーザー|사용자|Benutzer|Nutzer|Utilisateur"
    r"|Usuario|Usuário|Utente|Gebruiker|Пользователь|Użytkownik|나|你|Siz|Вы|Ви|Ты|Você|Vous|Kullanıcı|المستخدم|उपयोगकर्ता|Bạn|Customer"
    r"|💬|🗨|👤|🧑(?:\u200d💻)?|👨\u200d💻|👩\u200d💻"
    r"|🙋|Tú dijiste|Du hast gesagt|Vous avez dit|Você disse|Hai detto"
)
_VERSION = r"\d[\w.]{0,7}|[RVo]\d|Sonnet|Opus|Haiku|Pro|Flash|Large|Medium|Small|Max|Mini|Lite|Chat|Coder"
MODEL = (
    r"Assistant|AI|Bot|Agent|Model|Response|(?:ChatGPT|Gemini)(?: said| dijo| hat gesagt| a dit| disse| ha detto)?"
    r"|Cursor|Copilot|GitHub Copilot|MODEL|LLM|CodeCompanion|Cline|Roo|Le Chat|Meta AI"
    rf"|(?:Claude|Gemini|Grok|DeepSeek|Mistral|Qwen|Kimi|Llama)(?:[ -](?:{_VERSION})){{0,4}}"
    r"|Amazon Q|Claude Code|Gemini CLI|Codex|Windsurf|Cascade|Junie|Kiro|Perplexity|Cody"
    r"|ASSISTANT|Planner Response|GPT-[\w.\-]{1,20}(?: mini| nano)?|助手|AI助手|模型|アシスタント|어시스턴트|Assistent"
    r"|Asistente|Assistente|Ассистент|Asystent|Asistan|المساعد|सहायक|🤖|Antigravity|[A-Z]\w{0,20}(?:Bot|AI|GPT)"
)
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
    again += f"|{_BEGUN}" + (f"|{_ENDED}" if before else "")
    return re.compile(rf"^(?:{_MEASURED}(?=\s*(?:[-=_*]{{3,}}\s*)?(?:\Z|{again}))|(?:{again})[ \t]*\r?$)", re.M)


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
