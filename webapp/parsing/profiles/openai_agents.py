"""OpenAI Agents SDK: the arguments of a function tool must be one JSON object; no text stands for none."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import empty, loads, must_be_object, steps

plugin = Described(
    name="openai-agents",
    group=ARGUMENTS,
    version=restated("0.24.0-2"),
    about=(
        "Reads the arguments of a native call. 1. No text is {}. 2. json.loads of the whole text, once. 3. A value "
        "that is no object is refused. Nothing is repaired; the tool's own schema is not known here.\n"
        "Source: openai-agents 0.24.0, agents/tool.py, _parse_function_tool_json_input."
    ),
    parser=steps(empty(), loads(must_be_object)),
)
