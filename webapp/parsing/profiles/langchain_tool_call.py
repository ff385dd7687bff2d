"""LangChain's `parse_tool_call`: arguments of a native call, raw line feeds in strings allowed; nothing becomes {}."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import empty, made, steps

plugin = Described(
    name="langchain-tool-call",
    group=ARGUMENTS,
    version=restated("1.8.3-2"),
    about=(
        "Reads the arguments of a native call. 1. No text is {}. 2. json.loads with strict=False: raw line feeds and "
        "tabs in strings pass. 3. null, false, 0, an empty text and an empty list are made {}. Anything else that "
        "decodes is passed on, lists too. Nothing is repaired: what does not decode becomes an invalid tool call.\n"
        "Source: langchain-core 1.8.3, langchain_core/output_parsers/openai_tools.py, parse_tool_call."
    ),
    parser=steps(empty(), made(lambda value: value or {}, "what Python counts as false is made {}", strict=False)),
)
