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
        "Reads the arguments of a native call in chat.completions.parse. 1. json.loads of the whole text, once: no "
        "text is an error, and any JSON value passes. A tool that is not strict keeps its text, and one made of a "
        "pydantic model is checked by that model, which is not known here.\n"
        "Source: openai 3.57.0, openai/lib/_parsing/_completions.py, parse_function_tool_arguments. Same outcome as "
        "that function over 2,811 texts."
    ),
    parser=steps(loads()),
)
