"""Report 001 before its fix: how Python code became 22 validation errors."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.parsing.profiles import windlass


@settings(max_examples=500)
@given(st.text(st.sampled_from("{} a"), max_size=30))
def test_the_possessive_pattern_equals_the_report_s(text):
    pattern = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", re.DOTALL)
    found = [match.span() for match in windlass.BRACES.finditer(text)]
    assert found == [match.span() for match in pattern.finditer(text)]
