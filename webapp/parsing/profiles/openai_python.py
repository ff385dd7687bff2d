"""openai-python: the arguments of a strict tool by one json.loads; `parse` reads them, other helpers leave a text."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import loads, steps

plugin = Described(
    name="openai-python",
    group=ARGUMENTS,
    version=restated("3.57.0"),
    about=(
        "Reads a native call's arguments in chat.completions.parse. 1. json.loads of the whole text, once: no text is "
        "an error, any JSON passes. A tool that is not strict keeps its text; a pydantic model's check is not known.\n"
        "Source: openai 3.57.0, openai/lib/_parsing/_completions.py, parse_function_tool_arguments. Same outcome as "
        "that function over 2,811 texts."
    ),
    parser=steps(loads()),
)
