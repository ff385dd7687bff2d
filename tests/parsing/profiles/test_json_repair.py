"""The library as a profile: located where that is exact, honest where not, and never a raise or a long wait."""

from __future__ import annotations

import pytest

from webapp.parsing import parse
from webapp.parsing.profiles import json_repair

library = pytest.importorskip("json_repair", reason="needs the optional json_repair library")


def test_a_text_that_is_too_long_is_not_given_to_it():
    trace = parse("x" * 1_000_000 + "{'a': 1}", "json-repair")
    assert (trace.verdict, trace.values, trace.exhausted) == ("failed", (), True)


def test_a_long_text_is_read():
    raw = "[" + ",\n".join(["{'a': 1, 'b': 'x',}"] * 3000) + ",]"
    trace = parse(raw, "json-repair")
    assert (len(trace.values[0]), trace.exhausted) == (3000, False)


def test_what_escapes_from_the_library_is_a_failure():
    trace = parse("[" * 5000, "json-repair")
    assert (trace.verdict, trace.attempts[-1].outcome) == ("failed", "failed")
    assert "recursion" in trace.attempts[-1].reason


def test_a_text_into_which_the_library_puts_a_bracket_is_still_counted(monkeypatch):
    monkeypatch.setattr(json_repair, "MORE_READS", 0)
    raw = '[{"a": 1 "a": ' + "{" * 60 + '"' * 1500
    assert parse(raw, "json-repair").exhausted


def test_what_the_library_raises_is_a_failure(monkeypatch):
    monkeypatch.setattr(library, "repair_json", lambda *args, **kwargs: [][0])
    trace = parse("{'a'}", "json-repair")
    assert trace.verdict == "failed"
    assert trace.attempts[-1].reason == "IndexError: list index out of range"


def test_the_version_is_the_library_s():
    assert json_repair.plugin.version[0].isdigit()
