"""One session as a static HTML file that opens offline, with its spans, edits and errors marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelView, past
from webapp.exports.session import ExportedTurn, SessionView
from webapp.parsing import words
from webapp.parsing.drawing import Drawing, Stretch, telling
from webapp.parsing.edit import Span
from webapp.parsing.trace import UNFIT, Trace
from webapp.visible import runs, sign, visible

LONGEST_RAW = 200_000
LONGEST_VALUE = 20_000
MOST_ERRORS = 40
"""of one reading"""
_NAMES = {verdict[0]: words.VERDICT_NAMES[verdict] for verdict in words.MARKS}
_NAMES |= {"s": "failed, Fencepost can read it", "x": "parser not run"}
_SIGNS = {verdict[0]: mark for verdict, mark in words.MARKS.items()} | {"s": "⊠", "x": "?"}
STYLE = Path(__file__).with_name("html.css").read_text("utf-8").replace("\n", "")


def head(title: str) -> str:
    """What a file begins with that loads nothing from anywhere; `title` is escaped already."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{STYLE}</style>"
    )


def pieces(session: SessionView, about: ExportFacts) -> Iterator[bytes]:
    for part in _parts(session, about):
        yield part.encode("utf-8", "backslashreplace")


def _parts(session: SessionView, about: ExportFacts) -> Iterator[str]:
    title = text(session.id or "(empty id)")
    yield f"{head(f'{title} · Fencepost')}<h1>{title}</h1><p>{_ticks(text(session.says))}</p>"
    home = "parser unknown" if session.home == "unknown" else f"your parser {session.home}"
    is_counted = session.failed_count or session.home != "unknown"
    failed = (f"{session.failed_count:,} failed",) if is_counted else ()
    facts = ", ".join((session.format, home, words.counted(session.turn_count, "turn"), *failed))
    yield f'<p class="soft">{text(facts)}</p>'
    yield f'<p class="strip" aria-label="Responses in order">{_strip(session.strip)}</p>'
    for finding in session.findings:
        links = " ".join(f'<a href="#t{position}">{position}</a>' for position in finding.positions[:50])
        turns = "Turn" if len(finding.positions) == 1 else "Turns"
        yield f"<p><b>{text(finding.rule)}</b> {_ticks(text(finding.reason))} {turns} {links}</p>"
    yield '<p class="soft">✕ failed · <mark>read</mark> · <del>removed</del> · <ins>inserted</ins></p><ol start="0">'
    number = 0
    for turn in session.turns:
        anchor = ""
        if turn.home is not None:
            anchor, number = f' id="r{number}"', number + 1
        yield f'<li id="t{turn.position}" value="{turn.position}"><span{anchor}></span>{_turn(turn)}</li>'
    yield f'</ol><p class="soft">{text(about.sentence())}</p></html>\n'


def _ticks(escaped: str) -> str:
    """What stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)


def _strip(letters: str) -> str:
    return "".join(
        f'<a href="#r{index}" title="{_NAMES.get(letter, letter)}">{_SIGNS.get(letter, "·")}</a>'
        for index, letter in enumerate(letters)
    )


def _turn(turn: ExportedTurn) -> str:
    facts = " · ".join(text(fact) for fact in (turn.kind, turn.who, turn.model, turn.group, turn.sent_at) if fact)
    home = turn.home if turn.home and turn.home["version"] != UNFIT else None
    verdict = f" · {words.VERDICT_NAMES[home['verdict']]}" if home else ""
    bad = ' <span class="bad">✕ failed</span>' if turn.failed else ""
    opened = " open" if turn.failed or turn.kind in ("response", "tool_call") else ""
    readings = "".join(_reading(turn.raw, trace) for trace in _traces(turn)) or f"<pre>{_plain(turn.raw)}</pre>"
    failure = f'<p class="bad">Recorded in the log: {text(turn.recorded_failure)}</p>' if turn.recorded_failure else ""
    labels = "".join(_label(label) for label in turn.labels)
    return f"<details{opened}><summary>{facts}{verdict}{bad}</summary>{failure}{labels}{readings}</details>"


def _traces(turn: ExportedTurn) -> list[Trace]:
    """The home trace, and `fencepost`'s where it is another one that reads otherwise."""
    traces = [Trace.from_dict(turn.home)] if turn.home else []
    if turn.fencepost and (not turn.home or turn.home["profile"] != turn.fencepost["profile"]):
        traces.append(Trace.from_dict(turn.fencepost))
    is_same = len(traces) == 2 and traces[0].values == traces[1].values
    return traces[:1] if is_same and all(trace.version != UNFIT for trace in traces) else traces


def _reading(raw: str, trace: Trace) -> str:
    length = min(len(raw), LONGEST_RAW)
    marked = "".join(map(_stretch, Drawing(raw, telling(trace)).stretches(Span(0, length))))
    more = f'<p class="soft">{len(raw) - length:,} more characters</p>' if length < len(raw) else ""
    faults = [attempt.error for attempt in trace.attempts if attempt.error and not trace.values]
    errors = "".join(f'<p class="bad">{text(words.fault_sentence(fault))}</p>' for fault in faults[:MOST_ERRORS])
    if len(faults) > MOST_ERRORS:
        errors += f'<p class="soft">{words.counted(len(faults) - MOST_ERRORS, "more error")}</p>'
    values = "".join(f"<pre>{_plain(jsontext.pretty(value)[:LONGEST_VALUE])}</pre>" for value in trace.values)
    verdict = words.no_trace_sentence(trace) or words.VERDICT_NAMES[trace.verdict]
    return f'<p class="soft">{text(trace.profile)}: {text(verdict)}</p><pre>{marked}</pre>{more}{errors}{values}'


def _stretch(stretch: Stretch) -> str:
    content = _plain(stretch.text if stretch.kind == "text" else stretch.text.replace("\n", "↵"))
    if stretch.kind == "text":
        element = f"<{_tag(stretch)}>{content}</{_tag(stretch)}>" if stretch.attempt else content
    else:
        tag = "del" if stretch.kind == "removed" else "ins"
        element = f'<{tag} title="{text(stretch.repair)}">{content}</{tag}>'
    return f"<b>{element}</b>" if stretch.fault else element


def _tag(stretch: Stretch) -> str:
    return "mark" if stretch.attempt and stretch.attempt.ok else "u"


def _plain(raw: str) -> str:
    """`raw` escaped, line breaks and tabs as they are, what cannot be seen as a boxed sign."""
    return "".join(escape(run.text) if run.code is None else f"<i>{sign(chr(run.code))}</i>" for run in runs(raw))


def _label(label: LabelView) -> str:
    more = "".join(f", {text(words)}" for words in (label.cause, label.note) if words)
    history = "".join(f"<br><span class='soft'>{text(event)}</span>" for event in past(label))
    return (
        f"<p>Labelled <b>{text(label.judgement)}</b> by {text(label.author)}, {text(label.made_at)}{more}{history}</p>"
    )


def text(words: str | None) -> str:
    """`words` escaped for HTML, on one line."""
    return escape(visible(words))


plugin = ExportFormat("html", "sessions", ".html", "text/html; charset=utf-8", pieces)
