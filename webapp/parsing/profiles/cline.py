"""Cline's tool calls: tags with the names of its tools, and in them tags with those of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import AGENTS
from webapp.parsing.profiles._about import described
from webapp.parsing.profiles._steps import rewritten, whole
from webapp.parsing.profiles.four_tier import WHITE
from webapp.parsing.span import Span

TOOLS = (
    "ask_followup_question|attempt_completion|execute_command|replace_in_file|read_file|write_to_file|search_files|"
    "list_files|list_code_definition_names|browser_action|use_mcp_tool|access_mcp_resource|load_mcp_documentation|"
    "new_task|plan_mode_respond|act_mode_respond|focus_chain|web_fetch|web_search|condense|summarize_task|report_bug|"
    "new_rule|apply_patch|generate_explanation|use_skill|use_subagents"
)
PARAMETERS = (
    "command|requires_approval|path|absolutePath|content|diff|regex|file_pattern|recursive|action|url|coordinate|text|"
    "query|allowed_domains|blocked_domains|prompt|server_name|tool_name|arguments|uri|question|options|response|"
    "result|context|title|what_happened|steps_to_reproduce|api_request_output|additional_context|"
    "needs_more_exploration|task_progress|timeout|input|from_ref|to_ref|skill_name|prompt_1|prompt_2|prompt_3|"
    "prompt_4|prompt_5|start_line|end_line"
)
_TOOL = re.compile(f"<({TOOLS})>")
_INSIDE = re.compile(f"<({PARAMETERS})>|</({TOOLS})>")


class _Call(NamedTuple):
    """`closed`: its end was there."""

    span: Span
    name: str
    arguments: dict[str, str]
    closed: bool


@described("cline", AGENTS, version="restated-2.18.0", original="TypeScript", roots="first")
def plugin(tracer: Tracer) -> None:
    """Cline's tool calls: <read_file><path>…</path></read_file>, with values that are texts; the first one is run.

    1. A tag with the name of a tool begins a call, up to its closing tag; other tags are text. 2. In it a tag with the
    name of a parameter begins a value, up to its own closing tag, without white space round it. Of a name that repeats
    the last value counts. 3. The content of write_to_file reaches from its first <content> to the last </content>. 4.
    A call or a value that the end cuts off is given as far as it came. 5. Only the first call of a message is run,
    unless parallel calls are switched on. Names of subagents of one's own, and servers' tools, are not known here.

    Source: cline 2.18.0 (npm), parseAssistantMessageV2. From version 3 on Cline takes native calls alone.
    """
    calls = list(_calls(tracer.raw))
    for call in calls:
        value = {"name": call.name, "arguments": call.arguments}
        note = f"not JSON as written; calls {call.name}"
        attempt = rewritten(tracer, "derived", call.span, value, note)
        if call is calls[0]:
            tracer.choose(attempt)
            tracer.truncated = not call.closed
        else:
            tracer.amend(attempt, outcome="rejected", reason="a tool has been used in this message: it is not run")
    if not calls:
        tracer.reject("tagged", whole(tracer.raw), "no tag with the name of a tool: plain text")


def _calls(raw: str) -> Iterator[_Call]:
    """Every call in its order. Linear."""
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
        yield _Call(Span(opening.start(), at), name, arguments, mark is not None)
