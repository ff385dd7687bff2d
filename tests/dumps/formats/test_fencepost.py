"""Our own dump, read again: the same session, the same turns, the same home profile."""

from __future__ import annotations

import json

import pytest

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


def test_the_original_format_reads_the_entries(got):
    found = got(own())
    (start,) = found.starts
    assert (start.external_id, start.source_format, start.home, start.title) == ("s", "openai", "four-tier", "A title")
    assert start.extra == {"model": "m"}
    assert [turn.kind for turn in found.only] == ["prompt", "response"]
    assert found.only[1].model == "m"
    assert found.entries() == ENTRIES


def test_it_is_recognised_by_its_last_member_behind_many_entries(got):
    doc = json.loads(own())
    doc["entries"] = [{"role": "user", "content": f"{number} " * 200} for number in range(2000)]
    found = got(json.dumps(doc))
    assert (found.starts[0].home, len(found.only)) == ("four-tier", 2000)


def test_a_format_from_the_future_is_read_as_windlass_with_a_problem(got):
    found = got(own(format="cuneiform"))
    assert found.starts[0].source_format == "windlass"
    assert [problem.at for problem in found.problems] == ["fencepost.format"]


@pytest.mark.parametrize("odd", [None, 3, [], "fencepost", {"a": 1}])
def test_odd_values_do_no_harm(got, odd):
    found = got(own(format=odd, home=odd, title=odd, extra=odd, version=odd))
    assert len(found.only) == 2


def test_a_fencepost_that_is_no_object_makes_it_a_windlass_dump(got):
    assert got('{"session_id": "s", "entries": [], "fencepost": 3}').starts[0].source_format == "windlass"
