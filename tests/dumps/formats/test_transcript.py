"""Long transcripts: what is looked for in each message is not looked for in all of the text."""

from __future__ import annotations

import time

import pytest

from webapp.dumps.records import UnknownFormat

PIECES = {
    "headings": "## User\na\n## Assistant\nb\n",
    "roles in fences": "user: a\n```\nassistant: b\n",
    "tags that nothing closes": "<tool-use>\nb\n",
    "empty lines": "\n",
    "empty lines of a set": "\\n",
    "names within a line": "User: a. Assistant: b. ",
}
STARTS = {
    "tags that nothing closes": "## User\na\n## Assistant\n",
    "empty lines": "## User\na\n## Assistant\nb",
    "empty lines of a set": '{"chat": "Human: a',
}
ENDS = {"empty lines": "c\n", "empty lines of a set": 'b\\n\\nAssistant: c"}\n'}


@pytest.mark.parametrize("name", PIECES)
def test_time_grows_no_faster_than_the_text(got, name: str) -> None:
    times = []
    for size in (5_000, 40_000):
        written = STARTS.get(name, "") + PIECES[name] * (size // len(PIECES[name])) + ENDS.get(name, "")
        start = time.process_time()
        assert got(written, "chat.md").only[0].kind == "prompt"
        times.append(time.process_time() - start)
    assert times[1] < 24 * times[0] + 0.03  # eight times the text; 64 where the time grows with its square


def test_settings_are_no_chat(got) -> None:
    written = "User: harbour\nAI: enabled\n"
    assert got(written, "pier.md").only[0].kind == "prompt"
    with pytest.raises(UnknownFormat) as refused:
        got(written * 2, "pier.conf")
    assert not refused.value.speaks
