"""Report 002: its unit test with score 120, its four usage examples, and what the scoring hides."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsing.profiles.transcriptions import MASTER
from webapp.parsing.profiles import master


@settings(max_examples=500)
@given(st.lists(st.sampled_from(["```json", "```", "{", "{", "}", "}", " ", "\n", "a"]), max_size=24).map("".join))
def test_the_possessive_patterns_equal_the_report_s(text):
    for (_, pattern), original in zip(master.FENCES, (MASTER, MASTER.replace("json", "")), strict=True):
        found = [match.span(1) for match in pattern.finditer(text)]
        assert found == [match.span(1) for match in re.finditer(original, text, re.DOTALL)]
