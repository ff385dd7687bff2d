"""Anthropic's Python SDK: a tool's input as it streams in, by jiter's partial mode; nothing becomes {}."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import empty, steps
from webapp.parsing.profiles._jiter import partial

plugin = Described(
    name="anthropic-python",
    group=ARGUMENTS,
    version=restated("2.14.0"),
    about=(
        "Reads the input of a native call that streams in. 1. No text leaves the {} with which a call begins. 2. jiter "
        "in partial mode: what is cut off at the end is left out with its key, lists and objects are closed, so an "
        "input that max_tokens cut off looks whole. 3. What stands behind the first value is ignored. 4. Any other "
        "error is a ValueError. The text is read as if it came in one piece; without a stream an input comes decoded.\n"
        "Source: anthropic 2.14.0, anthropic/lib/streaming/_messages.py, accumulate_event, and jiter 0.19.0. Same "
        "outcome as that function over 2,811 texts."
    ),
    parser=steps(empty(), partial),
)
