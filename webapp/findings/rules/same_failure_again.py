"""The same model failed again and again in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.calls import first_error
from webapp.findings.words import code, defects, number

_ENOUGH = 2
_MOST_KINDS = 200
_MOST_KEPT = 32
_place = re.compile(r":? (?:at )?line \d+.*", re.DOTALL)
_numbers = re.compile(r"\d+")

_Kind = tuple[str, str]
"""who failed, and how"""


class Watch:
    def __init__(self, about: About) -> None:
        self.kinds: dict[_Kind, Marks] = {}
        self.recent: dict[int, Seen] = {}

    def see(self, turn: Seen) -> None:
        if turn.kind == "error":
            before = self.recent.pop(turn.answers, None) if turn.answers is not None else None
            if before is not None:
                self._fail(before, turn.raw or turn.failure)
        elif turn.failure is not None or (turn.home is not None and turn.home.verdict == "failed"):
            self._fail(turn, turn.failure)
        elif turn.raw is not None:
            self.recent[turn.position] = turn
            if len(self.recent) > _MOST_KEPT:
                del self.recent[next(iter(self.recent))]

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        often = sorted(
            (item for item in self.kinds.items() if item[1].count >= _ENOUGH), key=lambda item: -item[1].count
        )
        for (who, how), marks in often[:5]:
            yield marks, {"who": who, "how": how, "times": marks.count}

    def _fail(self, turn: Seen, said: str | None) -> None:
        kind = (turn.model or turn.agent or turn.role or "", _how(turn, said))
        marks = self.kinds.get(kind)
        if marks is None:
            if len(self.kinds) >= _MOST_KINDS:
                return
            marks = self.kinds[kind] = Marks()
        marks.add(turn.position)


def _how(turn: Seen, said: str | None) -> str:
    """The kind of a failure: what would mend it, else the decoder's words without their place."""
    ours = turn.ours
    if ours is not None and ours.chosen:
        mended = dict.fromkeys(edit.repair for index in ours.chosen for edit in ours.attempts[index].edits)
        if mended:
            return defects(sorted(mended), most=9)
    if said is None and turn.home is not None:
        said = first_error(turn.home)
    line = _place.sub("", (said or "no reason given").strip().partition("\n")[0])
    return _numbers.sub("0", line)[:120]


def says(detail: Detail) -> str:
    who = code(detail["who"]) if detail["who"] else "the model"
    return f"{who} failed {number(detail['times'], 'time')} in the same way: {detail['how'].replace('`', '')}"


plugin = Rule("same_failure_again", "low", 80, ("response", "tool_call", "error"), Watch, says)
