"""One session as a static HTML file that opens offline, with its spans, edits and errors marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.drawing import Kind, shown, sign, stretches
from webapp.exports.labelled import Said, past
from webapp.exports.session import SessionView, TurnView

LONGEST_RAW = 200_000
LONGEST_VALUE = 20_000
_TAGS: dict[Kind, str] = {"read": "mark", "removed": "del", "inserted": "ins", "tried": "u", "fault": "b"}
_NAMES = {
    "c": "clean",
    "e": "extracted",
    "r": "repaired",
    "f": "failed",
    "s": "failed, fencepost reads it",
    "n": "none",
}
_SIGNS = {"c": "●", "e": "○", "r": "◆", "f": "✕", "s": "⊠", "n": "·"}
STYLE = """
:root{color-scheme:light dark;--ink:light-dark(#1b1d21,#e4e6e9);--paper:light-dark(#fbfaf7,#121417);
--soft:light-dark(#53575f,#a5abb4);--rule:light-dark(#e1ded5,#2a2e34);--took:light-dark(#e0f2ed,#0f2f29);
--fail:light-dark(#b0231b,#ff8d7d);--failbg:light-dark(#fdeae7,#3a1815);--edit:light-dark(#824600,#ffc06b)}
body{font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:110ch;margin:0 auto;
padding:1em}
pre{font:12.5px/1.6 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;
border:1px solid var(--rule);border-radius:6px;padding:.6em .8em;margin:.4em 0}
summary{cursor:pointer}summary .bad,.bad{color:var(--fail)}.soft{color:var(--soft)}
mark{background:var(--took);color:inherit}u{text-decoration:underline dotted var(--fail)}
del{color:var(--fail);background:var(--failbg)}ins{color:var(--edit);text-decoration:underline 2px}
pre b{outline:2px solid var(--fail)}pre b::after{content:"▲";color:var(--fail);font-size:.7em}
i{font-style:normal;border:1px solid;border-radius:3px;font-size:.75em;padding:0 .2em}
.strip a{text-decoration:none;color:inherit;padding:0 .1em}li{margin:.3em 0}
""".replace("\n", "")


@dataclass(frozen=True)
class Html:
    name: str = "html"
    takes: Literal["sessions"] = "sessions"
    suffix: str = ".html"
    media_type: str = "text/html; charset=utf-8"

    def pieces(self, session: SessionView, about: About) -> Iterator[bytes]:
        for part in _parts(session, about):
            yield part.encode("utf-8", "backslashreplace")


def _parts(session: SessionView, about: About) -> Iterator[str]:
    title = text(session.id or "(empty id)")
    yield (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title} · Fencepost</title><style>{STYLE}</style><h1>{title}</h1><p>{_ticks(text(session.says))}</p>"
    )
    facts = f"{session.format}, home profile {session.home}, {session.turn_count} turns, {session.failed_count} failed"
    yield f'<p class="soft">{text(facts)}</p>'
    yield f'<p class="strip" aria-label="Responses in order">{_strip(session.strip)}</p>'
    for found in session.findings:
        links = " ".join(f'<a href="#t{position}">{position}</a>' for position in found.positions[:50])
        yield f"<p><b>{text(found.rule)}</b> {_ticks(text(found.reason))} Turns {links}</p>"
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
    cells = (
        f'<a href="#r{index}" title="{_NAMES.get(letter, letter)}">{_SIGNS.get(letter, "·")}</a>'
        for index, letter in enumerate(letters)
    )
    return "".join(cells)


def _turn(turn: TurnView) -> str:
    facts = " · ".join(text(fact) for fact in (turn.kind, turn.who, turn.model, turn.group, turn.sent_at) if fact)
    verdict = f" · {turn.home['verdict']}" if turn.home else ""
    bad = ' <span class="bad">✕ failed</span>' if turn.failed else ""
    opened = " open" if turn.failed or turn.kind in ("response", "tool_call") else ""
    readings = "".join(_reading(turn, trace) for trace in _traces(turn)) or f"<pre>{_plain(turn.raw)}</pre>"
    failure = f'<p class="bad">Recorded in the dump: {text(turn.recorded_failure)}</p>' if turn.recorded_failure else ""
    labels = "".join(_label(said) for said in turn.labels)
    return f"<details{opened}><summary>{facts}{verdict}{bad}</summary>{failure}{labels}{readings}</details>"


def _traces(turn: TurnView) -> list[dict[str, Any]]:
    """The home trace, and `fencepost`'s where it is another one that reads otherwise."""
    traces = [turn.home] if turn.home else []
    if turn.fencepost and (not turn.home or turn.home["profile"] != turn.fencepost["profile"]):
        traces.append(turn.fencepost)
    return traces[:1] if len(traces) == 2 and traces[0]["values"] == traces[1]["values"] else traces


def _reading(turn: TurnView, trace: dict[str, Any]) -> str:
    raw = turn.raw if len(turn.raw) <= LONGEST_RAW else turn.raw[:LONGEST_RAW]
    drawn = "".join(
        _stretch(stretch.kind, stretch.text, stretch.repair) for stretch in stretches(raw, _within(trace, raw))
    )
    cut = f'<p class="soft">{len(turn.raw) - len(raw):,} more characters</p>' if len(raw) < len(turn.raw) else ""
    errors = "".join(_error(attempt["error"]) for attempt in trace["attempts"] if attempt["error"])[:4000]
    values = "".join(f"<pre>{_plain(jsontext.pretty(value)[:LONGEST_VALUE])}</pre>" for value in trace["values"])
    title = f'<p class="soft">{text(trace["profile"])}: {trace["verdict"]}</p>'
    return f"{title}<pre>{drawn}</pre>{cut}{errors if not trace['values'] else ''}{values}"


def _within(trace: dict[str, Any], raw: str) -> dict[str, Any]:
    """`trace` with the attempts that lie in `raw`, for a text that was cut."""
    inside = [index for index in trace["chosen"] if trace["attempts"][index]["span"][1] <= len(raw)]
    return {**trace, "chosen": inside} if trace["chosen"] else trace


def _stretch(kind: Kind, raw: str, repair: str | None) -> str:
    if kind == "plain":
        return _plain(raw)
    tag = _TAGS[kind]
    title = f' title="{text(repair)}"' if repair else ""
    return f"<{tag}{title}>{_plain(raw) if kind != 'removed' else _plain(raw.replace(chr(10), '↵'))}</{tag}>"


def _plain(raw: str) -> str:
    """`raw` escaped, line breaks and tabs as they are, what cannot be seen as a boxed sign."""
    pieces = []
    for character in raw:
        drawn_as = None if character in "\n\t" else sign(character)
        pieces.append(f"<i>{drawn_as}</i>" if drawn_as else escape(character))
    return "".join(pieces)


def _error(error: dict[str, Any]) -> str:
    place = f"line {error['line']}, column {error['column']}, offset {error['at']}"
    return f'<p class="bad">{text(error["message"])} at {place}</p>'


def _label(said: Said) -> str:
    more = "".join(f", {text(words)}" for words in (said.cause, said.note) if words)
    history = "".join(f"<br><span class='soft'>{text(event)}</span>" for event in past(said))
    return f"<p>Labelled <b>{text(said.judgement)}</b> by {text(said.author)}, {text(said.made_at)}{more}{history}</p>"


def text(words: str | None) -> str:
    """`words` escaped for HTML, on one line."""
    return escape(shown(words or ""))


plugin = Html()
