"""LiteLLM's reading of arguments: open brackets are closed."""

from __future__ import annotations

from webapp.parsing.decode import BRACKETS, CLOSERS
from webapp.parsing.edit import Edit, Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import ARGUMENTS, described
from webapp.parsing.profiles._steps import choose_if_ok, empty, in_turn, loads, whole


@described("litellm-tool-call", ARGUMENTS)
def plugin(tracer: Tracer) -> None:
    """LiteLLM's `parse_tool_call_arguments`: JSON, else with open brackets closed; blank becomes {}.

    Reads the arguments of a call that LiteLLM passes on to Anthropic or Bedrock. 1. White space alone, or nothing,
    is {}. 2. json.loads. 3. Else commas at the end are cut off, brackets that are open outside of strings are
    closed, and json.loads once more: a text cut off inside a string stays an error.

    Source: litellm 1.110.2, litellm/litellm_core_utils/prompt_templates/tool_call_json_repair.py,
    parse_tool_call_arguments.
    """
    in_turn(tracer, (empty(None), loads(), _closed))


def _closed(tracer: Tracer) -> bool:
    """White space and commas at the end go, closers of the brackets that are open outside of strings come."""
    raw = tracer.raw
    stack: list[str] = []
    for match in BRACKETS.finditer(raw):
        if closer := CLOSERS.get(match[0]):
            stack.append(closer)
        elif stack[-1:] == [match[0]]:
            stack.pop()
    if not stack:
        return False
    end = len(raw.rstrip().rstrip(","))
    edit = Edit("missing_closer", Span(end, len(raw)), raw[end:], "".join(reversed(stack)))
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("whole", whole(raw), [edit]))
    return tracer.truncated
