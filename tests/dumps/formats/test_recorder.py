"""Recordings of `webapp.client`: what each field becomes, and that the entries come back as they were."""

from __future__ import annotations

import json
from typing import Any


def line(kind: Any, text: Any, session: Any = "s1", **fields: Any) -> str:
    return json.dumps({"session_id": session, "recorded_at": 1764547200.5, "kind": kind, "text": text, **fields}) + "\n"


def test_other_kinds_and_texts_that_are_none(got):
    found = got(line("prompt", "a") + line("new", "b") + line("response", {"a": 1}), named="recorder")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "a"), ("event", "b"), ("response", None)]
    assert found.entries()[2]["text"] == {"a": 1}
