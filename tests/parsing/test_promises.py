"""The promises of the trace, held on generated text, on the corpus, on mutated JSON and on hostile text."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pace import is_linear
from tests.parsing import _cases
from tests.parsing.promises import PIECES, keeps_its_promises
from webapp.parsing import Trace, Tracer, parse, profile, profiles, readings

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200))
def test_any_text(raw: str) -> None:
    keeps_its_promises(raw)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_text_made_of_what_json_is_made_of(raw: str) -> None:
    assert keeps_its_promises(raw).attempts == parse(raw).attempts


@settings(max_examples=80, deadline=None)
@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_valid_json_alone_is_clean(value: object, indent: int | None, ascii_only: bool) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    trace = keeps_its_promises(raw)
    assert (trace.verdict, len(trace.attempts), trace.attempts[0].edits) == ("clean", 1, ())
    assert json.dumps(trace.values[0]) == json.dumps(json.loads(raw))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=5), VALUES, min_size=1, max_size=3), st.sampled_from([None, 2]))
def test_valid_json_in_prose_or_fence_is_extracted_unchanged(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    for raw in (f"Here it is:\n{text}\nDone.", f"Sure!\n```json\n{text}\n```\nDone."):
        trace = keeps_its_promises(raw)
        assert (trace.verdict, list(trace.values)) == ("extracted", [value])


@settings(max_examples=120, deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_mutated_json(value: object, chance: random.Random) -> None:
    raw = json.dumps({"key": value, "n": [value]}, indent=chance.choice([None, 1]))
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(raw))
        raw = raw[:at] + chance.choice([*PIECES, ""]) + raw[at + chance.randint(0, 2) :]
    keeps_its_promises(raw)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.data())
def test_what_is_cut_is_said_to_be_cut(value: object, data: st.DataObject) -> None:
    whole = json.dumps({"tool": "t", "arguments": {"code": value}})
    raw = whole[: data.draw(st.integers(min_value=2, max_value=len(whole) - 1))]
    trace = keeps_its_promises(raw)
    assert trace.truncated or not trace.values


def _corpus(shared: Path) -> list[str]:
    texts: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str) and len(value) < 50_000:
            texts.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    for path in sorted((shared / "corpus").rglob("*.json*")):
        if path.stat().st_size < 1_200_000:
            lines = path.read_text("utf-8", "replace")
            walk([json.loads(line) for line in lines.splitlines()] if path.suffix == ".jsonl" else json.loads(lines))
    return texts


def test_the_corpus(shared: Path) -> None:
    texts = sorted(set(_corpus(shared)), key=len)
    assert len(texts) > 2_000
    for raw in texts[:: max(1, len(texts) // 750)]:
        keeps_its_promises(raw)


def test_the_json_test_suite(shared: Path) -> None:
    lines = (shared / "corpus" / "jsontestsuite" / "test_parsing.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case.get("input") is not None]
    accepted = [case["input"] for case in cases if case["verdict"] == "accept"]
    refused = [case["input"] for case in cases if case["verdict"] == "reject"]
    assert len(accepted) == 95 and len(refused) > 170
    for raw in accepted:
        trace = keeps_its_promises(raw)
        assert trace.verdict == "clean" and json.dumps(trace.values[0]) == json.dumps(json.loads(raw))
    assert [raw for raw in refused if len(raw) < 1000 and keeps_its_promises(raw).verdict == "clean"] == []


HOSTILE = {
    "openers": "[" * 30_000,
    "objects": '{"a":' * 6_000,
    "braces": "{" * 30_000,
    "nothing": "",
    "null": "\x00" * 1_000,
    "surrogates": "\ud800{\udfff" * 1_000,
    "digits": "[" + "9" * 5_000 + "]",
    "long number with a defect": "[" + "9" * 5_000 + ",]",
    "deep and closed": "[" * 15_000 + "]" * 15_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_never_raises(name: str) -> None:
    raw = HOSTILE[name]
    trace = parse(raw)
    assert Trace.from_dict(json.loads(json.dumps(trace.as_dict()))).verdict == trace.verdict


GROWTH = {
    "braces": lambda n: "{" * n,
    "nested": lambda n: '{"a":' * (n // 5),
    "quotes": lambda n: '{"a": "' + 'b", x' * (n // 5),
    "fences": lambda n: "```json\n{" * (n // 9),
    "backslashes and commas in keys": lambda n: "*/{{" + '\\\\",' * (n // 4),
    "quotes of both kinds": lambda n: """{"a": "I'll.', 'b': 'go', 'n': 1}\n""" * (n // 34),
    "spaces": lambda n: "```json\n{" + " " * n,
    "prose": lambda n: "see {price} and [1] " * (n // 20),
    "tags": lambda n: '<tool_call>{"a": ' * (n // 17),
    "thoughts side by side": lambda n: '"b": ' + '<think>{</think>"' * (n // 17),
    "alternating": lambda n: "[{" * (n // 2),
    "escaped": lambda n: '{\\"a\\": ' * (n // 8),
    "objects": lambda n: '{"a": 1,} text ' * (n // 15),
    "entities": lambda n: ",]{&quot;" * (n // 9),
    "quoted lines": lambda n: '> {"a": 1}\n' * (n // 11),
    "diffs": lambda n: ' {\n- "a": 1\n+ "a": 2\n' * (n // 21),
    "keys without a bracket": lambda n: '\n}`"a": "a": ' * (n // 13),
    "answer tags": lambda n: "<answer>+[1, 2]" * (n // 15),
    "calls in braces": lambda n: '\'<arg_value>:{\\"a\\": 1}call:f{' * (n // 31),
    "tags of arguments": lambda n: "<function=f><tool_call>：｝" * (n // 25),
    "bare items": lambda n: "[[-\\,(" * (n // 6),
    "backslashes behind a comma": lambda n: '{"a": 1, ' + "\\" * n,
    "quotes that stand twice": lambda n: '{"a": "' + '""a"": ' * (n // 7),
    "escaped in single quotes": lambda n: "{'a': '" + '{\\"a\\": ' * (n // 8),
    "closers behind a key": lambda n: '```json\n{"a": ' + "]" * n,
    "brackets in single quotes": lambda n: "{'a': '" + "[" * n,
    "closers apart": lambda n: '{"a": 1' + " ]" * (n // 2) + "}",
    "lists that the machine refuses": lambda n: "[[1]>" * (n // 5),
    "keys that stand twice": lambda n: "{" + ", ".join(f'"k{k}": 1, "k{k}": 2' for k in range(n // 24)),
}


@pytest.mark.parametrize("name", GROWTH)
def test_time_grows_no_faster_than_the_text(name: str) -> None:
    short, long = GROWTH[name](2_000), GROWTH[name](20_000)
    assert is_linear(lambda: parse(short), lambda: parse(long), 10)


def test_documents_that_each_lack_a_quote_are_read_without_a_look_at_all_that_follow() -> None:
    trace = parse("{\"a\": \"x', 'b': 1}\n" * 500)
    assert not trace.exhausted
    assert trace.values == ({"a": "x", "b": 1},) * 500


_TOO_MUCH = "too much would have to be looked at to tell which quotes end its strings"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a": "x ' + '"\n' * 20_000, _TOO_MUCH),
        ("[" + '1"1"' * 12_000, "every other character would have to be changed"),
        ('{"a": "' + '",' * 30_000, _TOO_MUCH),
    ],
)
def test_what_would_be_changed_or_looked_at_throughout_is_none(raw: str, reason: str) -> None:
    trace = parse(raw)
    assert trace.attempts[-1].reason == reason and trace.exhausted == (reason == _TOO_MUCH)


TOKEN = re.compile(r'[{\[]|"[^"\n]{1,100}"\s{0,20}:')


def unexplained(raw: str, trace: Trace) -> list[str]:
    """The brackets and keys outside of every attempt but the first, which is the whole text as it stands."""
    if trace.attempts[0].ok:
        return []
    covered = bytearray(len(raw) + 1)
    for attempt in trace.attempts[1:]:
        start, end = attempt.span
        covered[start:end] = b"\1" * (end - start)
    return [match[0] for match in TOKEN.finditer(raw) if not covered[match.start()]]


def texts(shared: Path) -> list[str]:
    return _cases.given(shared) + [case.raw for case in _cases.every()]


def test_every_case_explains_what_it_does_not_take(shared: Path) -> None:
    assert [ascii(raw) for raw in texts(shared) if unexplained(raw, parse(raw))] == []


@pytest.mark.parametrize("seed", range(2))
def test_mutations_explain_what_they_do_not_take(shared: Path, seed: int) -> None:
    short, chance = [raw for raw in texts(shared) if len(raw) < 3_000], random.Random(seed)
    for _ in range(1_000):
        raw = chance.choice(short)
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(raw))
            raw = raw[:at] + chance.choice([*PIECES, "", ""]) + raw[at + chance.randint(0, 2) :]
        assert [ascii(text) for text in unexplained(raw, parse(raw))] == [], ascii(raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a": 1} and "b": 2', "a key"),
        ('see {"a": 1} here ] ok', "a closing bracket behind a value"),
        ('<think>{"a": 0}</think>{"a": 1}', "inside a thought"),
    ],
)
def test_what_lies_beside_a_value_is_named(raw: str, reason: str) -> None:
    trace = parse(raw)
    assert trace.values == ({"a": 1},)
    assert any(attempt.outcome == "rejected" and reason in (attempt.reason or "") for attempt in trace.attempts)
    assert trace.ambiguous == ("<think>" not in raw)


def test_many_profiles_have_a_text_read_by_fencepost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = type(profile("fencepost"))
    run, runs = ours.run, list[None]()
    monkeypatch.setattr(ours, "run", lambda self, tracer: (runs.append(None), run(self, tracer))[1])
    read = readings('{"a": 1 and {"b" 2}')
    for name in profiles():
        read(name)
    assert len(runs) == 1


def test_of_a_profile_that_raises_the_trace_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: object, tracer: Tracer) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(type(profile("direct")), "run", run)
    trace = readings("{}")("direct")
    reason = "the profile itself broke: RuntimeError: no luck"
    assert (trace.verdict, [attempt.reason for attempt in trace.attempts]) == ("failed", [reason])
