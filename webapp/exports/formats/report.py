"""A session as Markdown to paste into an issue: what went wrong, each failed response with its marks drawn."""

from __future__ import annotations

from collections.abc import Iterator

from webapp import jsontext
from webapp.exports import textmarks
from webapp.exports.base import ExportFacts, ExportFormat, LabelView, past
from webapp.exports.session import ExportedTurn, SessionView
from webapp.markdown import block, code, escaped
from webapp.parsing import words
from webapp.parsing.drawing import telling
from webapp.parsing.edit import Edit
from webapp.parsing.trace import UNFIT, Trace
from webapp.visible import first

LONGEST_VALUE = 2_000
UNKNOWN = "unknown"
"""the home of a session whose parser nobody has named"""
MOST_EDITS = 20
MOST_TURNS = 50
"""failed or labelled turns of one session"""


def pieces(session: SessionView, about: ExportFacts) -> Iterator[bytes]:
    for part in _parts(session, about):
        yield part.encode("utf-8", "backslashreplace")


def _failed(session: SessionView) -> str:
    if session.home == UNKNOWN and not session.failed_count:
        return "parser unknown: no failure is recorded, so it is unknown whether any failed"
    words = f"{session.failed_count} failed, {session.rescued_count} of them readable by `fencepost`"
    return f"{words}; parser unknown: only recorded failures count" if session.home == UNKNOWN else words


def _parts(session: SessionView, about: ExportFacts) -> Iterator[str]:
    yield f"## Session {code(session.id)}\n\n{escaped(session.says)}\n\n"
    yield f"- format {code(session.format)}, parser {code(session.home)}, revision {session.revision}\n"
    yield f"- {words.counted(session.turn_count, 'turn')}, {words.counted(session.response_count, 'response')}, "
    yield f"{_failed(session)}\n"
    if session.models:
        yield f"- models: {', '.join(code(model) for model in session.models)}\n"
    if session.started_at:
        yield f"- started {session.started_at}\n"
    for finding in session.findings:
        turns = ", ".join(str(position) for position in finding.positions[:20])
        yield f"- **{finding.rule}** ({finding.severity}): {escaped(finding.reason)} Turns {turns}.\n"
    if session.url:
        yield f"- page: {session.url}\n"
    yield from _causes(session)
    yield from _turns(session)
    yield f"\n<sub>{escaped(about.sentence())}</sub>\n"


def _causes(session: SessionView) -> Iterator[str]:
    """Every cause with its count, each with the smallest reproduction where one was looked for."""
    if not session.causes:
        return
    yield f"\n### Causes of {words.counted(session.failed_count, 'failed response')}\n\n"
    for cause in session.causes:
        turns = "turn " if cause.count == 1 else "turns "
        turns += ", ".join(str(position) for position in cause.positions)
        more = f" and {cause.count - len(cause.positions):,} more" if cause.count > len(cause.positions) else ""
        yield f"- **{cause.count:,}** {escaped(cause.title)} ({turns}{more})\n"
    for cause in session.causes:
        if cause.reproduction is not None:
            yield f"\nSmallest reproduction of “{escaped(cause.title)}” ({escaped(cause.how)}):\n\n"
            yield block(cause.reproduction, "text")
        elif cause.how:
            yield f"\nSmallest reproduction of “{escaped(cause.title)}”: {escaped(cause.how)}.\n"


def _turns(session: SessionView) -> Iterator[str]:
    """The failed and the labelled turns, each with the prompt before it; of very many, the first."""
    before: ExportedTurn | None = None
    turn_count = 0
    for turn in session.turns:
        if turn.failed or turn.labels:
            turn_count += 1
            if turn_count > MOST_TURNS:
                yield f"\nOnly the first {MOST_TURNS} failed or labelled turns are listed here.\n"
                return
            yield from _turn(turn, before)
        before = turn


def _turn(turn: ExportedTurn, before: ExportedTurn | None) -> Iterator[str]:
    facts = [fact for fact in (turn.who, turn.model, turn.group, turn.sent_at) if fact]
    yield f"\n### Turn {turn.position}: {'failed' if turn.failed else 'labelled'}\n\n"
    if facts:
        yield f"{', '.join(code(fact) for fact in facts)}\n\n"
    if before is not None and before.kind == "prompt":
        yield f"The prompt before it ends:\n\n{block(before.raw[-600:], 'text')}\n"
    for title, trace in (("parser", turn.home), ("`fencepost`", turn.fencepost)):
        if trace is not None and (title == "parser" or trace["profile"] != (turn.home or {}).get("profile")):
            yield from _reading(title, turn.raw, Trace.from_dict(trace))
    if turn.recorded_failure:
        yield f"Recorded in the log: {code(turn.recorded_failure[:300])}\n\n"
    for label in turn.labels:
        yield _label(label)


def _reading(title: str, raw: str, trace: Trace) -> Iterator[str]:
    if sentence := words.no_trace_sentence(trace):
        yield f"{title} ({code(trace.profile)}): {escaped(sentence)}\n\n"
        if trace.version == UNFIT:
            yield f"{block(textmarks.marked_text(raw, None), 'text')}\n"
        return
    verdict = words.VERDICT_NAMES.get(trace.verdict, trace.verdict)
    yield f"{title} ({code(trace.profile)} {trace.version}): **{verdict}**\n\n"
    if trace.verdict != "none":
        yield f"{block(textmarks.marked_text(raw, trace), 'text')}\n"
    for attempt in telling(trace):
        yield from first(attempt.edits, MOST_EDITS, _edit, "- and {} more edits\n")
        if attempt.error:
            yield f"- {code(words.fault_sentence(attempt.error))}\n"
    for value in trace.values:
        text = jsontext.pretty(jsontext.marked(value))
        cut = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}\n… {len(text) - LONGEST_VALUE} more"
        yield f"\n{block(cut, 'json')}"
    yield "\n"


def _edit(edit: Edit) -> str:
    return f"- {edit.repair} at {edit.span.start}–{edit.span.end}: {code(edit.old)} → {code(edit.new)}\n"


def _label(label: LabelView) -> str:
    more = "".join(f", {escaped(text)}" for text in (label.cause, label.note) if text)
    history = "".join(f"- {escaped(event)}\n" for event in past(label))
    return f"Labelled **{label.judgement}** by {escaped(label.author)}, {label.made_at}{more}\n\n{history}\n"


plugin = ExportFormat("report", "sessions", ".md", "text/markdown; charset=utf-8", pieces)
