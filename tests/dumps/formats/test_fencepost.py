"""Our own dump, read again: the same session, the same turns, the same home profile."""

from __future__ import annotations

import json

ENTRIES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": '{"a": 1,}'}]


def own(**more: object) -> str:
    fencepost = {
        "version": "1",
        "format": "openai",
        "home": "four-tier",
        "title": "A title",
        "extra": {"model": "m"},
        **more,
    }
    return json.dumps(
        {"session_id": "s", "dumped_at": "x", "entry_count": 2, "entries": ENTRIES, "fencepost": fencepost}
    )


def test_it_is_recognised_by_its_last_member_behind_many_entries(got):
    doc = json.loads(own())
    doc["entries"] = [{"role": "user", "content": f"{number} " * 200} for number in range(2000)]
    found = got(json.dumps(doc))
    assert (found.starts[0].home, len(found.only)) == ("four-tier", 2000)
