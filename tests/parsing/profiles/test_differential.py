"""Every reported parser against its transcription: the same values or the same failure, over real and made-up text."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsing.profiles import transcriptions
from webapp import jsontext
from webapp.parsing import Trace, parse
from webapp.parsing.decode import decode
from webapp.parsing.edit import apply

PAIRS: dict[str, Callable[[str], list[Any]]] = {
    "direct": transcriptions.direct,
    "windlass-eager": transcriptions.windlass_eager,
    "windlass-strict": transcriptions.windlass_strict,
    "windlass-balanced": transcriptions.windlass_balanced,
    "four-tier": transcriptions.four_tier,
    "master-scored": transcriptions.master_scored,
    "master-before": transcriptions.master_before,
    "fire-circle": transcriptions.fire_circle,
    "fire-circle-strict": transcriptions.fire_circle_strict,
    "fire-circle-before": transcriptions.fire_circle_before,
}
NOT_STRICT = {"fire-circle", "fire-circle-strict"}

MARKUP = ["```json", "```JSON", "```python", "```", "{{", "}}", *'`{}[]"\\\n\t :']
WORDS = [",", "1", "NaN", "\xa0", "\ufeff", "\x1c", "\ud800", "a", "agents", "truth: 0.7 ", "indeterminacy :.2 "]
WORDS += ["**truth: 0.7, truth: 1. indeterminacy:\n00.2; falsehood .5**", "falsehood 1 truth 2 indeterminacy 3"]
WORDS += ["Falsehood 1.5", "falsehood: 1.2.3", "truth: ٣"]
OBJECTS = [
    '{"tool": "t"}',
    '{"tool": "t", "arguments": {"a": {"b": 1}}}',
    '{"tool": "t", "arguments": [1]}',
    '{"tool": "t", "arguments": {"c": "x}"}}}}',
    '{"tool": "t"}}}',
    '{"a": "x\ny"}',
    '{"agents": [], "complexity": 5}',
    '{"strategy": 1}',
    '{"a": "```json"}',
    '{"truth": 0, "indeterminacy": 0, "falsehood": 0, "reasoning": ""}',
    '{"truth": 0, "indeterminacy": 0, "falsehood": 0, "reasoning": "{x} \n"}',
    '{{"truth": 0, "indeterminacy": 0, "falsehood": 0, "reasoning": {}}}',
    "{}",
    '["x\ty"]',
]
SPACE = st.sampled_from(["", " ", "\n", "\n\t "])
LOOSE = st.sampled_from(MARKUP + WORDS + OBJECTS)
BODY = st.sampled_from(OBJECTS) | st.lists(LOOSE, max_size=3).map("".join)
DENTED = st.builds(
    lambda text, at, new: text[: at % len(text)] + new + text[at % len(text) :], LOOSE, st.integers(0, 60), LOOSE
)
FENCE = st.tuples(st.sampled_from(MARKUP[:4]), SPACE, BODY | DENTED, SPACE, st.sampled_from(["```", "```", ""])).map(
    "".join
)
JOINED = FENCE.map(lambda fence: f'{{"tool": {fence}"t"}}')
TEXTS = st.lists(LOOSE | DENTED | FENCE | JOINED, max_size=8).map("".join)


def check(name: str, text: str) -> None:
    trace = parse(text, name)
    assert same(trace.values, PAIRS[name](text)), (name, text)
    keeps_its_promises(text, trace)


def same(found: tuple[Any, ...], expected: list[Any]) -> bool:
    return list(found) == expected or jsontext.dumps(found) == jsontext.dumps(expected)


def keeps_its_promises(raw: str, trace: Trace) -> None:
    """Round trip, and a value is what was decoded."""
    strict = trace.profile not in NOT_STRICT
    for index, attempt in enumerate(trace.attempts):
        text = apply(raw, attempt.span, attempt.edits)
        assert 0 <= attempt.span.start <= attempt.span.end <= len(raw)
        if attempt.ok:
            assert jsontext.dumps(decode(text, strict=strict).value) == jsontext.dumps(attempt.value)
        if index in trace.chosen:
            assert attempt.ok
    assert (trace.verdict in ("failed", "none")) == (not trace.values)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_made_up_text(text: str) -> None:
    for name in PAIRS:
        check(name, text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    for name in PAIRS:
        check(name, text)


@pytest.mark.parametrize("char", [chr(point) for point in range(0x3001) if chr(point).isspace()] + ["\ufeff"])
def test_white_space_is_javascript_s(char: str) -> None:
    check("four-tier", f"```json{char}1{char}```")


@pytest.mark.parametrize("name", PAIRS)
def test_the_corpus(name: str, corpus: list[str]) -> None:
    assert len(corpus) > 500
    for text in corpus:
        check(name, text)


@pytest.fixture(scope="module")
def corpus(shared: Path) -> list[str]:
    """Every text with a brace, a bracket or a tick in it, each once; long ones and most alike ones left out."""
    found = dict.fromkeys(text for path in sorted(shared.rglob("*")) for text in texts(path))
    wanted = [text for text in found if re.search(r"[{\[`]", text) and len(text) <= 8000]
    return wanted[:: max(1, len(wanted) // 1500)]


def texts(path: Path) -> Iterator[str]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.infolist() if name.compress_type <= zipfile.ZIP_LZMA]
            documents = [archive.read(name).decode(errors="replace") for name in members]
    elif path.suffix in (".json", ".traj"):
        documents = [path.read_text(errors="replace")]
    elif path.suffix == ".jsonl":
        documents = path.read_text(errors="replace").split("\n")
    else:
        return
    for document in documents:
        value = decode(document).value
        yield from strings(value)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) > 1:
            yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def test_what_the_texts_hold() -> None:
    """The made-up text can reach every verdict of every profile that has it."""
    seen = {
        (name, parse(text, name).verdict)
        for name in PAIRS
        for text in ["", "{", *OBJECTS, *(f"x ```json {o}```" for o in OBJECTS)]
    }
    assert {verdict for _, verdict in seen} == {"clean", "extracted", "repaired", "failed", "none"}
    assert json.loads(OBJECTS[0]) == {"tool": "t"}
