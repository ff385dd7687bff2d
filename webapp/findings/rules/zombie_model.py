"""A model was left out of later rounds after one of its answers could not be parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from webapp.findings.rule import Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, names

_MOST_SPEAKERS = 64
_LONGEST = 256 * 1024


@dataclass(slots=True)
class _Speaker:
    """Who takes part in rounds: the first and last round with an answer, and whether that last one failed."""

    first: int
    round: int
    position: int
    raw: str
    failed: bool


class AbsentModels(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.phases: dict[str | None, dict[str, _Speaker]] = {}

    def see(self, turn: TurnView) -> None:
        if turn.kind == "error":
            for speaker in (speaker for speakers in self.phases.values() for speaker in speakers.values()):
                speaker.failed |= speaker.position == turn.answers
        elif turn.round is not None and turn.sounding is None:
            self._speak(turn, turn.round, turn.agent or turn.model)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        for speakers in self.phases.values():
            for name, speaker in speakers.items():
                later = _left_out(speaker, speakers.values())
                if later:
                    detail = {"model": name, "round": speaker.round, "later": later}
                    detail |= {"kept_by": self.context.readers(speaker.raw), "home": self.home}
                    yield MarkedTurns([speaker.position], 1), detail

    def _speak(self, turn: TurnView, round_: int, name: str | None) -> None:
        if name is None or (turn.phase not in self.phases and len(self.phases) >= _MOST_SPEAKERS):
            return
        speakers = self.phases.setdefault(turn.phase, {})
        if name not in speakers and len(speakers) >= _MOST_SPEAKERS:
            return
        before = speakers.get(name)
        first, raw = before.first if before else round_, (turn.raw or "")[:_LONGEST]
        speakers[name] = _Speaker(first, round_, turn.position, raw, turn.failed)


def _left_out(speaker: _Speaker, speakers: Iterable[_Speaker]) -> int:
    """How many rounds others in the same phase went on after the failure of this one."""
    if not speaker.failed:
        return 0
    stayed = [peer for peer in speakers if peer.first <= speaker.round < peer.round]
    return max((peer.round - speaker.round for peer in stayed), default=0)


def says(detail: Detail) -> str:
    readers = detail["kept_by"]
    clause = f"{code(detail['model'])} was left out after round {detail['round']}, when its answer could not be parsed"
    if not readers:
        return f"{clause}; no profile reads it"
    more = len(readers) - 3
    ours_first = sorted(readers, key=lambda name: name != "fencepost")
    return f"{clause}; {names(ours_first)}{f' and {more} more' if more > 0 else ''} would have kept it"


plugin = Rule("zombie_model", "high", 50, ("response", "error"), AbsentModels, says)
