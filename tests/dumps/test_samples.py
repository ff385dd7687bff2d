"""Samples of the kinds of log that people have: every answer that stands in one is read, word for word."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import gather

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "samples"
MANIFEST = FOLDER / "manifest.json"
SAMPLES: list[dict[str, Any]] = json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.exists() else []


def hashes(raw: str) -> set[str]:
    """The hash of a text, and that of its JSON with sorted keys: a call's arguments may be an object in the source."""
    texts = [raw]
    with suppress(ValueError):
        texts.append(json.dumps(json.loads(raw), sort_keys=True, ensure_ascii=False, separators=(",", ":")))
    return {hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["file"] for sample in SAMPLES])
def test_every_answer_is_read_and_none_is_made_up(sample):
    path = FOLDER / sample["file"]
    found = gather(path, path.name)
    turns = [turn for turns in found.turns for turn in turns if turn.duplicate_of is None]
    answers = [(turn.kind, hashes(turn.raw or "")) for turn in turns if turn.kind == "tool_call" or _said(turn)]
    assert len(answers) == len(sample["expected"])
    for expected in sample["expected"]:
        wanted = {expected[key] for key in ("sha256", "canonical_sha256") if key in expected}
        match = next(index for index, (kind, said) in enumerate(answers) if kind == expected["kind"] and said & wanted)
        answers.pop(match)
    assert sample["sessions"] in (None, len(found.starts))


def _said(turn: Any) -> bool:
    return turn.kind == "response" and bool(turn.raw)
