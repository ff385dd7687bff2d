"""Counts a session as its turns come: positions, who repeats or answers whom, verdicts, failures, the strip."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from webapp.contracts.contract import MISFITS
from webapp.dumps.records import MODEL_KINDS as MODEL_KINDS
from webapp.dumps.records import Turn
from webapp.parsing.trace import Trace

VERDICTS = ("clean", "extracted", "repaired", "failed", "none")
NOT_RUN = "not_run"
"""in place of a verdict: the home profile is known and was not run, since it could not be started, or is gone"""
LETTERS = dict(zip((*VERDICTS, NOT_RUN), "cerfnx", strict=True))
UNREAD = "u"
"""the letter of what even `fencepost` cannot read in a session whose parser is unknown: it may have failed or not"""
READABLE = ("clean", "extracted", "repaired")
"""The verdicts with which a trace has values."""
BROKEN_AS_ONE = "broken"
"""the value that a session has beside the contract states of its responses, where one of them is broken"""
_SILENT = ord("-")


class Place(NamedTuple):
    """Where a turn stands: its ordinal, the position it is shown at, and the ordinal it repeats."""

    ordinal: int
    position: int
    original: int | None


class PlacedTurn(NamedTuple):
    """A turn where it stands in its session, with what the fold needs of it.

    `turn` has its names and times as they are stored. `traces` are the home profile's if it
    was run and `fencepost`'s where that is another, `other_traces` those of replays; a turn that repeats another has
    none. `answers` is the position of the response that an error speaks of.
    """

    ordinal: int
    position: int
    original: int | None
    turn: Turn
    traces: tuple[Trace, ...] = ()
    answers: int | None = None
    other_traces: tuple[Trace, ...] = ()


@dataclass(slots=True)
class Tally:
    """A session's running state in a few bytes a turn, so that a million turns fit.

    Arrays by ordinal: `originals`, `positions`. By entry: `firsts`, `answerables` (ordinals, -1 for none).
    By position: `letters` (0 where no model wrote, "-" where it wrote no text), `readable`, `failures`, `broken`.
    """

    originals: array[int] = field(default_factory=lambda: array("i"))
    positions: array[int] = field(default_factory=lambda: array("i"))
    firsts: array[int] = field(default_factory=lambda: array("i"))
    answerables: array[int] = field(default_factory=lambda: array("i"))
    letters: bytearray = field(default_factory=bytearray)
    readable: bytearray = field(default_factory=bytearray)
    failures: bytearray = field(default_factory=bytearray)
    """those that are recorded …"""
    broken: bytearray = field(default_factory=bytearray)
    """… and those of responses that break their contract"""
    models: dict[str, None] = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    entries: int = 0

    def place(self, entry: int, kind: str, has_text: bool, duplicate_of: int | None) -> Place:
        """Give the next turn its place; `duplicate_of` is an entry that says the same: see `_original`."""
        ordinal = len(self.positions)
        self._enter(entry, ordinal)
        wrote = kind in MODEL_KINDS and has_text
        return self.put(entry, kind, has_text, self._original(duplicate_of, entry, ordinal, wrote))

    def put(self, entry: int, kind: str, has_text: bool, original: int | None, position: int | None = None) -> Place:
        """Give the next turn its place where the turn it repeats is known, as when a stored session is read again.

        Its `position` then is where late turns have left it; else it comes behind those that there are.
        """
        ordinal = len(self.positions)
        self._enter(entry, ordinal)
        if original is not None:
            position = self.positions[original]
        else:
            position = len(self.letters) if position is None else position
            self._mark_new(position, kind)
        self.originals.append(ordinal if original is None else original)
        self.positions.append(position)
        if self.answerables[entry] < 0 and kind in MODEL_KINDS and has_text:
            self.answerables[entry] = ordinal
        return Place(ordinal, position, original)

    def verdicts(self, ordinal: int, home: str | None, ours: str) -> None:
        """Note the verdicts on the response `ordinal`: the home profile's, None if it is unknown, and `fencepost`'s."""
        position = self.positions[ordinal]
        unread = home is None and ours == "failed"
        self.letters[position] = ord(UNREAD if unread else LETTERS[home or ours])
        self.readable[position] = ours in READABLE

    def answered(self, entry: int) -> int | None:
        """The ordinal of the response that an error about `entry` speaks of; None where there is no such entry."""
        if not 0 <= entry < len(self.firsts) or self.firsts[entry] < 0:
            return None
        ordinal = self.answerables[entry] if self.answerables[entry] >= 0 else self.firsts[entry]
        return self.originals[ordinal]

    def fail(self, ordinal: int) -> bool:
        """Note a recorded failure of the turn `ordinal`; False where one was noted before."""
        position = self.positions[ordinal]
        if self.failures[position]:
            return False
        self.failures[position] = 1
        return True

    def break_contract(self, ordinal: int, state: str) -> None:
        """Note that the response `ordinal` breaks what its request declares, which counts as failed; what is JSON and
        does so no parser rescues."""
        self.broken[self.positions[ordinal]] = 1
        self.readable[self.positions[ordinal]] &= state not in MISFITS

    def saw(self, model: str | None, sent_at: datetime | None) -> None:
        """Note who wrote and when."""
        if model is not None:
            self.models.setdefault(model)
        if sent_at is not None:
            self.started_at = min(sent_at, self.started_at or sent_at)
            self.ended_at = max(sent_at, self.ended_at or sent_at)

    def strip(self) -> str:
        """One letter a response: its home verdict, x where that was not run, f for a failed and s for a rescued one;
        under an unknown home the verdict of `fencepost`, and u where that fails."""
        marks = zip(self.letters, self.failures, self.broken, self.readable, strict=True)
        return "".join(
            _mark(letter, bool(failed or broken), bool(is_read)) for letter, failed, broken, is_read in marks
        )

    def counters(self) -> dict[str, int | bool | str]:
        """The session's counter columns."""
        strip = self.strip()
        rescued = strip.count("s")
        failed = strip.count("f") + rescued
        return {
            "entry_count": self.entries,
            "turn_count": len(self.letters),
            "response_count": len(strip),
            "failed_count": failed,
            "rescued_count": rescued,
            "clean_count": self.letters.count(b"c"),
            "extracted_count": self.letters.count(b"e"),
            "repaired_count": self.letters.count(b"r"),
            "unparsed_count": self.letters.count(b"f") + self.letters.count(b"u"),
            "none_count": self.letters.count(b"n"),
            "strip": strip,
        }

    def failing_as_json(self) -> int:
        """How many responses would have failed under `json.loads`, which takes clean ones, or did by a record."""
        strip = self.strip()
        return len(strip) - strip.count(LETTERS["clean"]) - strip.count(LETTERS["none"])

    def _mark_new(self, position: int, kind: str) -> None:
        if (missing := position + 1 - len(self.letters)) > 0:
            for marks in (self.letters, self.readable, self.failures, self.broken):
                marks.extend(bytes(missing))
        if kind in MODEL_KINDS:
            self.letters[position] = _SILENT

    def _enter(self, entry: int, ordinal: int) -> None:
        while len(self.firsts) <= entry:
            self.firsts.append(-1)
            self.answerables.append(-1)
        if self.firsts[entry] < 0:
            self.firsts[entry] = ordinal
            self.entries += 1

    def _original(self, duplicate_of: int | None, entry: int, ordinal: int, wrote: bool) -> int | None:
        """The original of the turn `ordinal`: the k-th of `duplicate_of`, or the k-th that a model wrote in it."""
        if duplicate_of is None or not 0 <= duplicate_of < len(self.firsts) or duplicate_of == entry:
            return None
        starts = self.answerables if wrote and self.answerables[duplicate_of] >= 0 else self.firsts
        first, own_start = starts[duplicate_of], starts[entry]
        if first < 0:
            return None
        following = duplicate_of + 1
        while self.firsts[following] < 0:
            following += 1
        return self.originals[min(first + (ordinal - own_start if own_start >= 0 else 0), self.firsts[following] - 1)]


def _mark(letter: int, failed: bool, readable: bool) -> str:
    if letter == 0 or (letter == _SILENT and not failed):
        return ""
    if failed or letter == ord("f"):
        return "s" if readable else "f"
    return chr(letter)
