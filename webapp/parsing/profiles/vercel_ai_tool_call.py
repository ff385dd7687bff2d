"""The Vercel AI SDK's tool calls: JSON.parse of the input, blank input as {}, keys of prototypes refused."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._arguments import empty, loads, no_prototype, steps
from webapp.parsing.profiles.four_tier import WHITE

plugin = Described(
    name="vercel-ai-tool-call",
    group=ARGUMENTS,
    version="restated-6.0.326",
    about=(
        "Reads the input of a native call. 1. White space alone, or nothing, is {}. 2. JSON.parse of the whole, once. "
        "3. A key __proto__, or constructor with prototype in it, is refused at any depth. What fails becomes an "
        "invalid tool call; a repairToolCall of the program's own and the tool's schema are not known here.\n"
        "Source: ai 6.0.326, src/generate-text/parse-tool-call.ts, and @ai-sdk/provider-utils, secure-json-parse.ts. "
        "The original is TypeScript: here Python's decoder words the errors, and large integers stay exact."
    ),
    parser=steps(empty(WHITE), loads(no_prototype, finite=True)),
)
