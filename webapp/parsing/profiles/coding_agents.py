"""Coding agents that take commands and edits out of a response's text: Aider, Cline, mini-swe-agent, OpenHands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import AGENTS, described
from webapp.parsing.profiles._grammar import VALUES, ParameterPairs
from webapp.parsing.profiles._steps import WHITE, Unreadable, derived, whole

_COMMAND = re.compile(r"```mswea_bash_command\s*\n(.*?)\n```", re.DOTALL)


@described("mini-swe-agent", AGENTS)
def mini_swe_agent(tracer: Tracer) -> None:
    """mini-swe-agent's text models: exactly one ```mswea_bash_command block, which is the command.

    1. Each ```mswea_bash_command whose line ends reaches to the next line that begins with ```. 2. There must be
    exactly one; none and several are a FormatError, which the agent tells its model. 3. White space round the command
    is cut off. Other fences, such as ```bash, count as prose. Models that call tools do not use it.

    Source: mini-swe-agent 2.4.6, minisweagent/models/utils/actions_text.py, parse_regex_actions, with the pattern of
    litellm_textbased_model.py.
    """
    raw = tracer.raw
    last = raw.rfind("\n```")  # nothing that begins behind it ends: looking there would take the square of its length
    commands = [stripped(raw, *match.span(1)) for match in _COMMAND.finditer(raw, 0, last + 4)]
    if len(commands) != 1:
        for span in commands or [whole(raw)]:
            tracer.fail("fenced", span, f"FormatError: Expected exactly 1 action, found {len(commands)}.")
    else:
        tracer.choose(derived(tracer, commands[0], {"command": commands[0].of(raw)}))


_AROUND = (
    re.compile(r"</think>\s*(?=<function=)"),
    re.compile(r"<tool_call>\s*(?=<function=)"),
    re.compile(r"(?<=</function>)\s*</tool_call>"),
)
_FUNCTION = ParameterPairs(re.compile(r"<function=([^>]+)>\n?"), re.compile("</function>"), VALUES["text"])
_PARAMETER = ParameterPairs(re.compile("<parameter=([^>]+)>"), re.compile("</parameter>"), VALUES["stripped"])
_TWICE = re.compile(r"<parameter=([a-zA-Z0-9_]+)=([^<]*)</parameter>")


@described("openhands", AGENTS)
def openhands(tracer: Tracer) -> None:
    """OpenHands for models without tools: the first <function=…> and its <parameter=…>, whose values are texts.

    1. </think> and <tool_call> right before <function= go, </tool_call> right behind </function> too. 2. Where there is
    one <function= and no </function> at the end, it is added. 3. The first <function=name>…</function> is the call. 4.
    <parameter=name=value</parameter> becomes <parameter=name>value</parameter>; each parameter is a text without white
    space round it, one that is not closed is left out. Which tools and types are declared is not known here: every name
    is taken for one with texts.

    Source: openhands-sdk 1.58.2, openhands/sdk/llm/mixins/fn_call_converter.py, _convert_assistant_to_fncall.
    """
    raw = text = tracer.raw
    for pattern in _AROUND:
        text = pattern.sub("", text)
    if text.count("<function=") == 1:
        if text.endswith("</"):
            text = text.rstrip() + "function>"
        elif not text.rstrip().endswith("</function>"):
            text += "\n</function>"
    call = next(_FUNCTION.each(text), None)
    if call is None:
        tracer.reject("tagged", whole(raw), "no <function=…> with its </function>: plain text")
        return
    value = {"name": call[0], "arguments": _PARAMETER.read(_TWICE.sub(r"<parameter=\1>\2</parameter>", call[1]))}
    start = raw.find("<function=")
    end = raw.find("</function>", start)
    span = Span(start, end + len("</function>") if end >= 0 else len(raw))
    tracer.choose(derived(tracer, span, value, f"calls {call[0]}"))


_HEAD, _DIVIDER = re.compile(r"<{5,9} SEARCH>?\s*$"), re.compile(r"={5,9}\s*$")
_END = re.compile(r">{5,9} REPLACE\s*$|={5,9}\s*$")
_SHELL = re.compile("```(?:bash|sh|cmd|batch|powershell|ps1|zsh|fish|ksh|csh|tcsh)")


@described("aider", AGENTS, roots="all")
def aider(tracer: Tracer) -> None:
    """Aider's edit blocks: <<<<<<< SEARCH, =======, >>>>>>> REPLACE, with the file's name in one of three lines before.

    1. <<<<<<< SEARCH begins a block, ======= ends what is looked for, >>>>>>> REPLACE or ======= what takes its place.
    2. The file's name stands alone on one of the three lines before, behind fences alone; without one, the last block's
    counts. 3. A fence of a shell that no block follows holds commands. 4. A block that does not end, or has no name,
    makes Aider refuse all of the response and ask the model again. Files of the chat, to which Aider matches names, are
    not known here.

    Source: aider-chat 0.86.2, aider/coders/editblock_coder.py, find_original_update_blocks.
    """
    lines = tracer.raw.splitlines(keepends=True)
    begins = [0, *accumulate(map(len, lines))]
    try:
        blocks = [(Span(begins[first], begins[last]), value) for first, last, value in _blocks(lines)]
    except Unreadable as error:
        tracer.fail("blocks", Span(begins[error.args[1]], len(tracer.raw)), f"ValueError: {error.args[0]}")
        return
    for span, value in blocks:
        tracer.choose(derived(tracer, span, value))
    if not blocks:
        tracer.reject("blocks", whole(tracer.raw), "no edit block: plain text")


def _blocks(lines: list[str]) -> Iterator[tuple[int, int, Any]]:
    """The lines of each block, from the first to before the last, and what it says. Raises `Unreadable`."""
    at, name = 0, None
    while at < len(lines):
        first, line = at, lines[at].strip()
        if _SHELL.match(line) and not any(_HEAD.match(after.strip()) for after in lines[at + 1 : at + 3]):
            at = _until(lines, at + 1, lambda text: text.startswith("```"))
            yield first, min(at + 1, len(lines)), {"shell": "".join(lines[first + 1 : at])}
            at += 1
            continue
        if _HEAD.match(line):
            name = _file_name(lines[max(0, at - 3) : at]) or name
            if not name:
                raise Unreadable("Bad/missing filename", first)
            middle = _until(lines, at + 1, _DIVIDER.match)
            at = _until(lines, middle + 1, _END.match)
            if at >= len(lines):
                raise Unreadable("Expected `=======`" if middle >= len(lines) else "Expected `>>>>>>> REPLACE`", first)
            search, replace = "".join(lines[first + 1 : middle]), "".join(lines[middle + 1 : at])
            yield first, at + 1, {"path": name, "search": search, "replace": replace}
        at += 1


def _until(lines: list[str], at: int, is_end: Any) -> int:
    return next((number for number in range(at, len(lines)) if is_end(lines[number].strip())), len(lines))


def _file_name(before: list[str]) -> str | None:
    """The name on the lines before a block, from the last one on: one with a dot before one without."""
    names: list[str] = []
    for line in reversed(before):
        names += filter(None, [_bare_name(line.strip())])
        if not line.startswith("```"):
            break
    return next((name for name in names if "." in name), names[0] if names else None)


def _bare_name(line: str) -> str | None:
    if line == "...":
        return None
    if line.startswith("```"):
        return line[3:] if "." in line or "/" in line else None
    return line.rstrip(":").lstrip("#").strip().strip("`").strip("*")


_TOOLS = (
    "ask_followup_question|attempt_completion|execute_command|replace_in_file|read_file|write_to_file|search_files|"
    "list_files|list_code_definition_names|browser_action|use_mcp_tool|access_mcp_resource|load_mcp_documentation|"
    "new_task|plan_mode_respond|act_mode_respond|focus_chain|web_fetch|web_search|condense|summarize_task|report_bug|"
    "new_rule|apply_patch|generate_explanation|use_skill|use_subagents"
)
_PARAMETERS = (
    "command|requires_approval|path|absolutePath|content|diff|regex|file_pattern|recursive|action|url|coordinate|text|"
    "query|allowed_domains|blocked_domains|prompt|server_name|tool_name|arguments|uri|question|options|response|"
    "result|context|title|what_happened|steps_to_reproduce|api_request_output|additional_context|"
    "needs_more_exploration|task_progress|timeout|input|from_ref|to_ref|skill_name|prompt_1|prompt_2|prompt_3|"
    "prompt_4|prompt_5|start_line|end_line"
)
_TOOL = re.compile(f"<({_TOOLS})>")
_INSIDE = re.compile(f"<({_PARAMETERS})>|</({_TOOLS})>")


@described("cline", AGENTS, original="TypeScript")
def cline(tracer: Tracer) -> None:
    """Cline's tool calls: <read_file><path>…</path></read_file>, with values that are texts; the first one is run.

    1. A tag with the name of a tool begins a call, up to its closing tag; other tags are text. 2. In it a tag with the
    name of a parameter begins a value, up to its own closing tag, without white space round it. Of a name that repeats
    the last value counts. 3. The content of write_to_file reaches from its first <content> to the last </content>. 4.
    A call or a value that the end cuts off is given as far as it came. 5. Only the first call of a message is run,
    unless parallel calls are switched on. Names of subagents of one's own, and servers' tools, are not known here.

    Source: cline 2.18.0 (npm), parseAssistantMessageV2. From version 3 on Cline takes native calls alone.
    """
    for span, name, arguments, is_closed in _cline_calls(tracer.raw):
        attempt = derived(tracer, span, {"name": name, "arguments": arguments}, f"calls {name}")
        if not tracer.chosen:
            tracer.choose(attempt)
            tracer.truncated = not is_closed
        else:
            tracer.amend(attempt, outcome="rejected", reason="a tool has been used in this message: it is not run")
    if not tracer.chosen:
        tracer.reject("tagged", whole(tracer.raw), "no tag with the name of a tool: plain text")


def _cline_calls(raw: str) -> Iterator[tuple[Span, str, dict[str, str], bool]]:
    """Every call in its order, with its name, its arguments, and whether its end is there. Linear."""
    at = 0
    while opening := _TOOL.search(raw, at):
        name, arguments, body = opening[1], dict[str, str](), opening.end()
        at = body
        while (mark := _INSIDE.search(raw, at)) and mark[2] != name:
            at = mark.end()
            if mark[1]:
                end = raw.find(f"</{mark[1]}>", at) % (len(raw) + 1)
                arguments[mark[1]] = raw[at:end].strip(WHITE)
                at = min(end + len(mark[1]) + 3, len(raw))
        if mark and name == "write_to_file":
            first, last = raw.find("<content>", body, mark.start()), raw.rfind("</content>", body, mark.start())
            if 0 <= first < last:
                arguments["content"] = raw[first + len("<content>") : last].strip(WHITE)
        at = mark.end() if mark else len(raw)
        yield Span(opening.start(), at), name, arguments, mark is not None


plugins = (aider, cline, mini_swe_agent, openhands)
