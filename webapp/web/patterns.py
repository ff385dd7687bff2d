"""The patterns page: every component in every state, drawn by the templates that the pages use."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from flask import Blueprint, render_template, request

from webapp.findings import RuleContext, RuleFinding, RuleRunner, TurnView, rules
from webapp.parsing import parse
from webapp.store.search import Match
from webapp.store.sessions.facets import Counts, Facet
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.sessions import Page, SessionLine
from webapp.store.write.tally import VERDICTS
from webapp.web import debugger, playground, verdict_column
from webapp.web.sessions import list_filters
from webapp.web.turns.debugger_query import DebuggerQuery

blueprint = Blueprint("patterns", __name__)

NOW = datetime(2025, 12, 10, 9, 30, tzinfo=UTC)
STRIPS = {
    "nothing failed": "ccneecc",
    "one failed among many": "c" * 30 + "f" + "n" * 14,
    "every verdict": "cernfs",
    "binned": "cn" * 400 + "s" + "ce" * 300,
    "no response": "",
}
BRACES = 'I will run it.\n\n```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```\n'
TEXTS = {
    "repaired": (BRACES, "fencepost"),
    "failed": (BRACES, "windlass-strict"),
    "clean": ('{"tool": "run_code", "arguments": {}}', "fencepost"),
    "several edits": ("{'a': 1, \"b\": [1, 2,], // three\n c: True, }", "fencepost"),
    "discarded": ("A set is written {1, 2}, and a dict {a: b}.", "fencepost"),
    "nothing": ("I am done. No code is needed.", "fencepost"),
    "special characters": ('{"a\u200b": "\u202etxt.exe\u202c",\t"b":\u00a01}  \r\n\x00\x1b[31m', "fencepost"),
}
"""responses in the debugger: a text and the profile that reads it"""
MODELS = ("gemini-2.5-flash-lite", "qwen3-coder-plus", "a model\u202ewith a hidden turn")


@blueprint.get("/patterns")
def index() -> str:
    filters = Filters(failed=True, model=MODELS[0], since="2025-12-01", failures=3)
    sample = sample_page()
    return render_template(
        "patterns/index.html",
        strips=STRIPS,
        now=datetime.now(UTC) - timedelta(minutes=3),
        verdicts=VERDICTS,
        **list_filters.rows_context(sample, filters) | list_filters.panel_context(sample, filters),
        views=[],
        texts={},
        samples=list(TEXTS),
        sample=request.args.get("sample", "repaired"),
        bench=bench(request.args.get("sample", "repaired")),
        findings=findings(),
        session=line(1, "sn"),
    )


def bench(sample: str) -> debugger.Bench:
    """The debugger over one of `TEXTS`; its links lead to the playground."""
    text, name = TEXTS.get(sample, TEXTS["repaired"])
    names = dict.fromkeys(("windlass-strict", "fencepost", name))
    traces = verdict_column.read(names, lambda profile: parse(text, profile))
    go = partial(playground.address, text, playground.pack(text))
    return debugger.bench(text, traces, "windlass-strict", DebuggerQuery(profile=name), go)


def findings() -> list[RuleFinding]:
    """What the rules find in a session whose call was lost and whose agent then told of its output."""
    notice = RuleRunner(RuleContext("windlass-strict"))
    for position, raw in enumerate((BRACES, "The code printed 1, so the answer is 1.", BRACES, BRACES)):
        home, ours = parse(raw, "windlass-strict"), parse(raw)
        notice.see(TurnView(position, position, "response", model=MODELS[0], raw=raw, home=home, ours=ours))
    return notice.findings()


def line(number: int, strip: str, **changes: Any) -> SessionLine:
    """A row of the list whose counts agree with its strip."""
    failed, rescued = strip.count("f") + strip.count("s"), strip.count("s")
    session_line = SessionLine(
        key=f"pattern{number}",
        external_id=f"ui_run_{number:04}",
        title="solve_with_code",
        revision=1,
        newest=True,
        models=[MODELS[0]],
        started_at=NOW - timedelta(hours=number),
        turn_count=2 * len(strip),
        response_count=len(strip),
        failed_count=failed,
        rescued_count=rescued,
        strip=strip,
        source_format="windlass",
        home_profile="windlass-strict",
        home_source="format",
        service=None,
        clean_count=strip.count("c"),
        extracted_count=strip.count("e"),
        repaired_count=strip.count("r"),
        unparsed_count=failed + strip.count("u"),
        none_count=strip.count("n"),
        label_count=0,
        ended_at=None,
        raw_bytes=12_345,
        facets=None,
    )
    return replace(session_line, **changes)


def sample_page() -> Page:
    every_rule = {"finding": dict.fromkeys(rules(), 1) | {next(iter(rules())): 3}}
    lines = [
        line(1, "nsnnsnf", facets=every_rule),
        line(4, "cceernu", home_profile="unknown", home_source="unknown", unparsed_count=1),
        line(2, STRIPS["binned"], models=list(MODELS), revision=2),
        line(3, STRIPS["one failed among many"], external_id="<b>&\"'\u202e" + "x" * 200, newest=False),
        line(4, "cc", title=None, started_at=None, models=[]),
        line(5, "", external_id=""),
    ]
    matches = [
        Match(1, 4, 4, "raw", (("… the ", False), ("brace", True), (" that closes nothing …", False))),
        Match(1, 5, 5, "error", (("Extra data after the ", False), ("brace", True))),
        Match(1, None, None, "id", (("ui_run_", False), ("brace", True))),
    ]
    models = [(name, 10 - at) for at, name in enumerate((*MODELS, *(f"model-{number}" for number in range(8))))]
    facets = {
        "finding": Facet("finding", [(name, 7) for name in rules()][:4], 0, None),
        "verdict": Facet("verdict", [("failed", 12), ("clean", 7)], 0, None),
        "model": Facet("model", models, 31, MODELS[0]),
        "dump": Facet("dump", [("1", 5)], 0, None),
    }
    return Page(lines, "next", Counts(1_508, 412, 61, 12, 400, 412, 1_508), facets, {"pattern1": matches})
