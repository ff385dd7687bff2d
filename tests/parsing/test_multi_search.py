"""The next of several characters and patterns, against a search at every offset."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from webapp.parsing.multi_search import MultiSearch, Place, Target

CHARS = "{[<é"
PATTERNS = (re.compile(r'"[a-c]{1,3}"\s*:'), re.compile(r"\[[AB]+\]"), re.compile("<a+>"))
NEEDS = (re.compile(r'"\s*:'), None, None)
TARGETS = (*map(Target, CHARS), *map(Target, '"[<', PATTERNS, NEEDS))
texts = st.text(alphabet='{}[]<>"abcAB :\né字', max_size=60)


@given(texts, st.data())
def test_it_finds_what_a_search_at_every_offset_finds(raw: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, len(raw)))
    search = MultiSearch(raw, start, end, TARGETS)
    at = start
    while True:
        place = search.next(at)
        assert place == _nearest(raw, at, end)
        if place is None:
            break
        at = place[0] + data.draw(st.integers(1, 4))


def _nearest(raw: str, at: int, end: int) -> Place | None:
    for start in range(at, end):
        ends = [start + 1] if raw[start] in CHARS else []
        ends += [match.end() for pattern in PATTERNS if (match := pattern.match(raw, start, end))]
        if ends:
            return start, max(ends)
    return None


def test_each_pattern_passes_over_a_text_without_it_once() -> None:
    raw = "{" * 2_000
    counting = _CountingPattern()
    search = MultiSearch(raw, 0, len(raw), [Target("{"), Target("{", counting)])  # type: ignore[arg-type]
    places = [search.next(at) for at in range(len(raw))]
    assert places == [(at, at + 1) for at in range(len(raw))]
    assert counting.searches == 1


class _CountingPattern:
    """A pattern that never matches and counts how often it is asked."""

    searches = 0

    def search(self, raw: str, start: int, end: int) -> None:
        self.searches += 1
