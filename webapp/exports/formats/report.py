"""A session as Markdown to paste into an issue: what went wrong, each failed response with its marks drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from webapp import jsontext
from webapp.exports import textmarks
from webapp.exports.base import About
from webapp.exports.drawing import shown, telling
from webapp.exports.labelled import Said, past
from webapp.exports.session import SessionView, TurnView

CONTEXT_LINES = 12
LONGEST_VALUE = 2_000
MOST_EDITS = 20
MOST_TURNS = 50
"""failed or labelled turns of one session"""


@dataclass(frozen=True)
class Report:
    name: str = "report"
    takes: Literal["sessions"] = "sessions"
    suffix: str = ".md"
    media_type: str = "text/markdown; charset=utf-8"

    def pieces(self, session: SessionView, about: About) -> Iterator[bytes]:
        for part in _parts(session, about):
            yield part.encode("utf-8", "backslashreplace")


def _parts(session: SessionView, about: About) -> Iterator[str]:
    yield f"## Session {_code(session.id)}\n\n{shown(session.says)}\n\n"
    yield f"- format {_code(session.format)}, home profile {_code(session.home)}, revision {session.revision}\n"
    yield f"- {session.turn_count} turns, {session.response_count} responses, {session.failed_count} failed"
    yield f" in production, {session.rescued_count} of them read by `fencepost`\n"
    if session.models:
        yield f"- models: {', '.join(_code(model) for model in session.models)}\n"
    if session.started_at:
        yield f"- started {session.started_at}\n"
    for found in session.findings:
        turns = ", ".join(str(position) for position in found.positions[:20])
        yield f"- **{found.rule}** ({found.severity}): {shown(found.reason)} Turns {turns}.\n"
    yield from _turns(session)
    yield f"\n<sub>{shown(about.sentence())}</sub>\n"


def _turns(session: SessionView) -> Iterator[str]:
    """The failed and the labelled turns, each with the prompt before it; of very many, the first."""
    before: TurnView | None = None
    told = 0
    for turn in session.turns:
        if turn.failed or turn.labels:
            told += 1
            if told > MOST_TURNS:
                yield f"\nOnly the first {MOST_TURNS} failed or labelled turns are told here.\n"
                return
            yield from _turn(turn, before)
        before = turn


def _turn(turn: TurnView, before: TurnView | None) -> Iterator[str]:
    facts = [fact for fact in (turn.who, turn.model, turn.group, turn.sent_at) if fact]
    yield f"\n### Turn {turn.position}: {'failed' if turn.failed else 'labelled'}\n\n"
    if facts:
        yield f"{', '.join(_code(fact) for fact in facts)}\n\n"
    if before is not None and before.kind == "prompt":
        yield f"The prompt before it ends:\n\n{_block(before.raw[-600:], 'text')}\n"
    for title, trace in (("home profile", turn.home), ("`fencepost`", turn.fencepost)):
        if trace is not None and (title == "home profile" or trace["profile"] != (turn.home or {}).get("profile")):
            yield from _reading(title, turn.raw, trace)
    if turn.recorded_failure:
        yield f"Recorded in the dump: {_code(turn.recorded_failure[:300])}\n\n"
    for said in turn.labels:
        yield _label(said)


def _reading(title: str, raw: str, trace: dict[str, Any]) -> Iterator[str]:
    yield f"{title} ({_code(trace['profile'])} {trace['version']}): **{trace['verdict']}**\n\n"
    if trace["verdict"] != "none":
        yield f"{_block(textmarks.drawn(raw, trace), 'text')}\n"
    for attempt in telling(trace):
        edits = attempt["edits"]
        for edit in edits[:MOST_EDITS]:
            start, end = edit["span"]
            yield f"- {edit['repair']} at {start}–{end}: {_code(edit['old'])} → {_code(edit['new'])}\n"
        if len(edits) > MOST_EDITS:
            yield f"- and {len(edits) - MOST_EDITS} more edits\n"
        if attempt["error"]:
            error = attempt["error"]
            place = f"line {error['line']}, column {error['column']}, offset {error['at']}"
            yield f"- {_code(error['message'])} at {place}\n"
    for value in trace["values"]:
        text = jsontext.pretty(value)
        cut = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}\n… {len(text) - LONGEST_VALUE} more"
        yield f"\n{_block(cut, 'json')}"
    yield "\n"


def _label(said: Said) -> str:
    more = "".join(f", {shown(text)}" for text in (said.cause, said.note) if text)
    history = "".join(f"- {shown(event)}\n" for event in past(said))
    return f"Labelled **{said.judgement}** by {shown(said.author)}, {said.made_at}{more}\n\n{history}\n"


def _code(text: str) -> str:
    """`text` as inline code on one line, whatever backticks it holds."""
    text = shown(text)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _block(text: str, info: str) -> str:
    """`text` in a fence that no backticks in it can close."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    lines = "\n".join(shown(line) for line in text.split("\n"))
    return f"{fence}{info}\n{lines}\n{fence}\n"


plugin = Report()
