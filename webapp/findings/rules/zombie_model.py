"""A model was left out of the later rounds after an answer of its could not be parsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.words import code, names

_MOST_SPEAKERS = 64
_LONGEST = 256 * 1024
_AS_ERROR = 64
"""how many turns after a response an error about it still counts"""


@dataclass(slots=True)
class _Speaker:
    """Who takes part in rounds: the first and last round with an answer, and whether that last one failed."""

    first: int
    round: int
    position: int
    raw: str
    failed: bool


@dataclass(slots=True)
class _Circle:
    """The speakers of one phase."""

    speakers: dict[str, _Speaker] = field(default_factory=dict)
    last: int = -1


class Watch:
    def __init__(self, about: About) -> None:
        self.about = about
        self.circles: dict[str | None, _Circle] = {}

    def see(self, turn: Seen) -> None:
        if turn.kind == "error":
            self._fail(turn.answers)
        elif turn.round is not None and turn.sounding is None:
            self._speak(turn, turn.round, turn.agent or turn.model)

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        for circle in self.circles.values():
            for name, speaker in circle.speakers.items():
                later = _left_out(speaker, circle)
                if later:
                    kept_by = self.about.readers(speaker.raw)
                    detail = {
                        "model": name,
                        "round": speaker.round,
                        "later": later,
                        "kept_by": kept_by,
                        "home": self.about.home,
                    }
                    yield Marks([speaker.position], 1), detail

    def _speak(self, turn: Seen, round_: int, name: str | None) -> None:
        circle = self.circles.get(turn.phase)
        if circle is None:
            if name is None or len(self.circles) >= _MOST_SPEAKERS:
                return
            circle = self.circles[turn.phase] = _Circle()
        if name is None or (name not in circle.speakers and len(circle.speakers) >= _MOST_SPEAKERS):
            return
        failed = turn.failure is not None or (turn.home is not None and turn.home.verdict == "failed")
        raw = (turn.raw or "")[:_LONGEST] if failed or not turn.raw else turn.raw[:_LONGEST]
        before = circle.speakers.get(name)
        circle.speakers[name] = _Speaker(before.first if before else round_, round_, turn.position, raw, failed)
        circle.last = max(circle.last, round_)

    def _fail(self, position: int | None) -> None:
        for circle in self.circles.values() if position is not None else ():
            for speaker in circle.speakers.values():
                if speaker.position == position:
                    speaker.failed = True


def _left_out(speaker: _Speaker, circle: _Circle) -> int:
    """How many rounds others of the same circle went on after the failure of this one."""
    if not speaker.failed:
        return 0
    others = [other for other in circle.speakers.values() if other is not speaker]
    stayed = [other for other in others if other.first <= speaker.round < other.round]
    return max((other.round - speaker.round for other in stayed), default=0)


def says(detail: Detail) -> str:
    kept_by = detail["kept_by"]
    told = f"{code(detail['model'])} was left out after round {detail['round']}, when its answer could not be parsed"
    if not kept_by:
        return f"{told}; no profile reads it"
    more = len(kept_by) - 3
    ours = sorted(kept_by, key=lambda name: name != "fencepost")
    return f"{told}; {names(ours)}{f' and {more} more' if more > 0 else ''} would have kept it"


plugin = Rule("zombie_model", "high", 50, ("response", "error"), Watch, says)
