"""openai-node while arguments stream in: what is cut off is completed, a number at the cut end left out."""

from __future__ import annotations

from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles.partial_json import reader

plugin = Described(
    name="openai-node-stream",
    original="TypeScript",
    group=ARGUMENTS,
    version="restated-6.49.0",
    about=(
        "Reads what has arrived of a strict tool's arguments (chat.completions.stream): partial-json in the SDK's own "
        "copy. 1. At the end of the text strings are closed, words completed, lists and objects given as far as they "
        "go; a number is left out, since more digits may follow. 2. The same happens at anything that is no JSON, "
        "without an error. 3. What stands behind the value is ignored. The finished call goes to JSON.parse.\n"
        "Source: openai 6.49.0 (npm), _vendor/partial-json-parser/parser.js, partialParse. Same outcome as it in Node "
        "over 2,811 texts; nested more than 300 deep is not read. Here large integers stay exact."
    ),
    parser=reader(numbers=False),
)
