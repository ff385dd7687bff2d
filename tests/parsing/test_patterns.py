"""Patterns that compile late are right all the same."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time

import pytest

import webapp.parsing
from webapp.parsing import Tracer, parse, patterns
from webapp.parsing.patterns import later
from webapp.parsing.profiles._about import described


def modules() -> list[str]:
    return [info.name for info in pkgutil.walk_packages(webapp.parsing.__path__, "webapp.parsing.")]


@pytest.mark.parametrize("name", modules())
def test_every_pattern_of_a_module_compiles(name: str) -> None:
    for value in vars(importlib.import_module(name)).values():
        if type(value).__name__ == "_Later":
            assert value.search("") is None or value.search("")


def test_a_late_pattern_matches_as_one_compiled_at_once() -> None:
    pattern, text = r"(a)(?P<b>b*)", "xabbab"
    late, early = later(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    assert [m.span() for m in late.finditer(text)] == [m.span() for m in early.finditer(text)]
    assert late.sub("-", text) == early.sub("-", text)
    assert late.match(text, 1) is not None and late.fullmatch(text) is None


def test_a_bad_pattern_is_told_at_its_first_use() -> None:
    with pytest.raises(re.error):
        later("(").match("")


def test_what_is_prepared_once_is_no_time_of_a_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0]
    monkeypatch.setattr(time, "perf_counter_ns", lambda: clock[0])

    @described("slow")
    def profile(tracer: Tracer) -> None:
        clock[0] += 5_000
        with patterns.preparing():
            clock[0] += 70_000_000
            with patterns.preparing():
                clock[0] += 1_000_000

    assert parse("x", profile).microseconds == 5
