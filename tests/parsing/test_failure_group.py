"""Failure groups: cases as text, and what is true of any text."""

from __future__ import annotations

import random
import re
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parsing.made_failures import Made, made
from tests.parsing.promises import PIECES
from webapp.parsing import Attempt, Trace, parse
from webapp.parsing.edit import Edit, Span
from webapp.parsing.failure_group import LONGEST_KEY, FailureGroup, group, title

CASES = re.findall(
    r"^(.+)\n\.\n(.*?)\n\.\n(.*?)\n\.$", Path(__file__).with_name("failure_groups.md").read_text(), re.M | re.S
)


def under(raw: str, profile: str = "direct") -> FailureGroup | None:
    return group(raw, parse(raw, profile), parse(raw))


@pytest.mark.parametrize(("name", "raw", "expected"), CASES, ids=[name for name, *_ in CASES])
def test_case(name: str, raw: str, expected: str) -> None:
    found = under(raw)
    assert found is not None
    assert [part or "-" for part in found] == expected.split("\n")
    assert title(found.key) == found.title


def test_what_is_read_or_not_run_has_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_PROFILES", "gone=cmd:no-such-program")
    assert under('{"a": 1}') is None
    assert under('{"a": 1,}', "fencepost") is None
    assert under("{'a': 1", "gone") is None


def test_what_our_own_profile_cannot_read_has_a_group() -> None:
    raw = '{"a": 1 "b" 2 3 {{[[ "c": '
    ours = parse(raw)
    found = group(raw, ours, ours)
    assert (found is None) == (ours.verdict != "failed")


def test_a_refused_whole_value_is_not_said_to_be_unseen() -> None:
    raw = '{"a": 1}'
    failed = parse("{", "direct")
    found = group(raw, failed, parse(raw))
    assert found is not None and found.key == "v1|valid JSON, refused|whole|alone"


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=30).map("".join))
def test_any_text(raw: str) -> None:
    ours = parse(raw)
    for profile in ("direct", "json-repair", "fencepost"):
        trace = parse(raw, profile)
        found = group(raw, trace, ours)
        assert (found is None) == (trace.verdict != "failed")
        assert found == group(raw, trace, ours)
        if found is not None:
            assert found.key.startswith("v1|") and len(found.key) <= LONGEST_KEY
            assert len(found.path or "") <= 160 and len(found.tokens or "") <= 64
            "".join(part or "" for part in found).encode()


def test_what_a_value_holds_moves_no_response() -> None:
    chance = random.Random(11)
    for one in made(120, seed=3):
        digits = re.sub(r"(?<=[0-9])[0-9]", lambda _: str(chance.randint(1, 9)), one.raw)
        words = re.sub(r"\b(alpha|beta|gamma|delta)\b", lambda _: chance.choice(["epsilon", "zeta"]), one.raw)
        keys = {found.key for raw in (one.raw, digits, words) if (found := under(raw)) is not None}
        assert len(keys) <= 1, one


def test_made_failures_come_into_their_groups() -> None:
    """Homogeneity: a group holds one kind of failure. Completeness: a kind is in one group. See docs/failures.md."""
    some = [(one, found.key) for one in made(1500, seed=5) if (found := under(one.raw)) is not None]
    truth, keys = [kind(one) for one, _ in some], [key for _, key in some]
    together = entropy(list(zip(truth, keys, strict=True)))
    assert 1 - (together - entropy(keys)) / entropy(truth) > 0.96
    assert 1 - (together - entropy(truth)) / entropy(keys) > 0.96
    assert len(set(keys)) < 50


HOSTILE = ["a", "a ", "`", "``` ", " ", "'", '"', "\\", "{", "[{", '{"a":', "'a' ", "\n```", "|"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_text(piece: str) -> None:
    """A pattern that goes back over what it read would not come to an end here."""
    filler = piece * (400_000 // len(piece))
    raw = f'{filler}\n{{"a": 1,}}\n{filler}'
    at = len(filler) + 1
    attempt = Attempt("balanced", Span(at, at + 9), "accepted", edits=(Edit("comma", Span(at + 7, at + 8), ",", ""),))
    inside = Attempt("whole", Span(0, len(raw)), "accepted", edits=(Edit("comma", Span(at + 7, at + 8), ",", ""),))
    failed = Trace("direct", "1", "failed", (), (), ())
    for chosen in (attempt, inside):
        found = group(raw, failed, Trace("fencepost", "1", "repaired", (chosen,), (0,), ({},)))
        assert found is not None


def kind(one: Made) -> str:
    return one.defect if one.defect == "placeholder" else f"{one.defect}, {one.place}"


def entropy(values: list[Any]) -> float:
    return -sum(count / len(values) * log(count / len(values)) for count in Counter(values).values())
