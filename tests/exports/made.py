"""Labelled responses and sessions for the tests of exports, with traces from the real parser."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from webapp.exports import redaction
from webapp.exports.base import ExportFacts, LabelledResponse, LabelView
from webapp.exports.redaction import Redactor
from webapp.exports.session import ExportedTurn, FindingView, SessionView
from webapp.parsing import parse

ABOUT = ExportFacts(datetime(2026, 11, 22, 3, 0, tzinfo=UTC), "all labels", "0.1.0")
BROKEN = 'Sure!\n```json\n{"tool": "run_code", "arguments": {"code": "x\ny"}}}}\n```\n'
SETTLED = {"author": "Cy", "why": "two of three", "made_at": "2026-11-21T11:00:00+00:00"}
MEANT = {"tool": "run_code", "arguments": {"code": "x\ny"}}


def said(expected: Any = None, *, expects: str | None = "one", **more: Any) -> LabelView:
    values: dict[str, Any] = {"author": "Ada", "judgement": "missed", "cause": "extra-closing", "note": "four braces"}
    values |= {"made_at": "2026-11-21T10:00:00+00:00", "history": ({"action": "put", "judgement": "unsure"},), **more}
    return LabelView(expects=expects, expected=expected, **values)


def labelled(raw: str, final: LabelView | None, *, position: int = 3, **more: Any) -> LabelledResponse:
    trace = parse(raw)
    values: dict[str, Any] = {
        "session": "ui_run/1",
        "key": "k7",
        "revision": 1,
        "position": position,
        "raw": raw,
        "raw_sha256": hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest(),
        "model": "m-1",
        "agent": None,
        "phase": "plan",
        "format": "windlass",
        "home": "windlass-strict",
        "verdict": trace.verdict,
        "truncated": trace.truncated,
        "labels": (final,) if final else (),
        "final": final,
    }
    return LabelledResponse(**{**values, **more})


def responses() -> list[LabelledResponse]:
    """A broken one, one whose JSON is not meant, two values, a cut one of which nothing is known, and hostile text."""
    settled = said(MEANT, author="Bo", judgement="wrong")
    return [
        labelled(BROKEN, said(MEANT)),
        labelled("for x in {1, 2}: print(x)", said(expects="none", judgement="right"), position=4),
        labelled('{"a": 1} and {"b": NaN}', said([{"a": 1}, {"b": None}], expects="several"), position=5),
        labelled('{"a": "cut', said(expects="unknown", judgement="unsure"), position=6),
        labelled('"""\\\'\x00\ud800\n.\n#"', said('"""', note='=cmd()\n"""'), position=7),
        replace(labelled(BROKEN, settled, position=8), settled=SETTLED, labels=(said(MEANT), settled)),
    ]


def turn(raw: str, *, position: int = 0, home: str = "windlass-strict", **more: Any) -> ExportedTurn:
    own, ours = parse(raw, home).as_dict(), parse(raw).as_dict()
    values: dict[str, Any] = {"kind": "response", "who": "agent", "model": "m-1", "group": "plan", "sent_at": None}
    values |= {"failed": own["verdict"] == "failed", "recorded_failure": None}
    return ExportedTurn(position=position, raw=raw, home=own, fencepost=ours, **{**values, **more})


def session(*turns: ExportedTurn) -> SessionView:
    facts: dict[str, Any] = {"format": "windlass", "home": "windlass-strict", "models": ("m-1",)}
    facts |= {"started_at": None, "turn_count": len(turns), "response_count": len(turns), "rescued_count": 0}
    failed = sum(each.failed for each in turns)
    found = (FindingView("lost tool call", "error", "A tool call was written and none ran.", (0,)),)
    return SessionView(
        id="ui_run/1", revision=1, failed_count=failed, strip="s" * len(turns), says="It failed.",
        findings=found, turns=turns, **facts,
    )  # fmt: skip


def redactor(*rules: Any, **options: Any) -> Redactor:
    """One that hides something."""
    hide = redaction.redactor(*rules, **options)
    assert hide is not None
    return hide
