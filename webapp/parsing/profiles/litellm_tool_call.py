"""LiteLLM's `parse_tool_call_arguments`: JSON, else with open brackets closed; blank becomes {}."""

from __future__ import annotations

import re

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import empty, loads, steps
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.profiles._jiter import CLOSERS
from webapp.parsing.span import Span

_MARK = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)


def _closed(tracer: Tracer) -> bool:
    """White space and commas at the end go, closers of the brackets that are open outside of strings come."""
    raw = tracer.raw
    stack: list[str] = []
    for match in _MARK.finditer(raw):
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


plugin = Described(
    name="litellm-tool-call",
    group=ARGUMENTS,
    version=restated("1.110.2"),
    about=(
        "Reads the arguments of a call that LiteLLM passes on to Anthropic or Bedrock. 1. White space alone, or "
        "nothing, is {}. 2. json.loads. 3. Else commas at the end are cut off, brackets that are open outside of "
        "strings are closed, and json.loads once more: a text cut off inside a string stays an error.\n"
        "Source: litellm 1.110.2, litellm/litellm_core_utils/prompt_templates/tool_call_json_repair.py, "
        "parse_tool_call_arguments. Same outcome as that function over 2,811 texts."
    ),
    parser=steps(empty(None), loads(), _closed),
)
