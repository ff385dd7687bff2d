"""What was sent and what was acknowledged: what must be stored, and what may be."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

BROKEN = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}}}\n```'
TEXTS = (BROKEN, '```json\n{"tool": "run_code", "arguments": {"code": "1"}}\n```', "{}", "no JSON")
LabelPlace = tuple[str, int, str]
"""session, position, author"""


@dataclass(slots=True)
class Upload:
    """A dump: by session the texts that it has to hold once this is read."""

    way: str
    """sync, background or command"""
    sessions: dict[str, list[str]]
    name: str

    def body(self) -> bytes:
        """Windlass entries in lines."""
        lines = [
            json.dumps({"session_id": session, "node_type": "agent", "role": "agent", "content": text})
            for session, texts in self.sessions.items()
            for text in texts
        ]
        return "\n".join(lines).encode()


@dataclass
class Ledger:
    """`sessions` and `labels` were acknowledged; `open_uploads` and `open_labels` were sent, and nobody answered."""

    sessions: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[LabelPlace, str] = field(default_factory=dict)
    acknowledged_labels: dict[LabelPlace, int] = field(default_factory=dict)
    """how often each was given with an answer …"""
    sent_labels: dict[LabelPlace, int] = field(default_factory=dict)
    """… and how often at all"""
    open_uploads: list[Upload] = field(default_factory=list)
    in_background: list[Upload] = field(default_factory=list)
    """acknowledged with 202 in this round: a worker reads them some time"""
    open_labels: dict[LabelPlace, list[str]] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    """which parser was acknowledged to be a session's, by its name …"""
    open_homes: dict[str, list[str]] = field(default_factory=dict)
    """… and which were sent, and nobody answered"""
    exports: list[int] = field(default_factory=list)
    """acknowledged in this round: each is to end with a file that holds every session"""
    old: set[str] = field(default_factory=set)
    """sessions that a prune is to remove: they do not grow meanwhile"""
    gone: list[str] = field(default_factory=list)
    """sessions that a prune removed"""

    def upload_acknowledged(self, upload: Upload) -> None:
        if upload.way == "background":
            self.in_background.append(upload)
        for session, texts in upload.sessions.items():
            if len(texts) >= len(self.sessions.get(session, ())):
                self.sessions[session] = texts

    def label_sent(self, place: LabelPlace, judgement: str) -> None:
        self.open_labels.setdefault(place, []).append(judgement)
        self.sent_labels[place] = self.sent_labels.get(place, 0) + 1

    def label_acknowledged(self, place: LabelPlace, judgement: str) -> None:
        """What was sent before it, and not answered, is overwritten; or it never came."""
        self.open_labels.pop(place, None)
        self.labels[place] = judgement
        self.acknowledged_labels[place] = self.acknowledged_labels.get(place, 0) + 1

    def may_hold(self, session: str) -> list[list[str] | None]:
        """The texts that a session may have now; None where it may be absent."""
        attempts = [upload.sessions[session] for upload in self.open_uploads if session in upload.sessions]
        return [self.sessions.get(session), *attempts]

    def removed(self, session: str) -> None:
        self.sessions.pop(session, None)
        self.gone.append(session)
        self.homes.pop(session, None)
        self.open_homes.pop(session, None)
        for places in (self.labels, self.acknowledged_labels, self.sent_labels, self.open_labels):
            for place in [place for place in places if place[0] == session]:
                del places[place]


class Maker:
    """Makes uploads of one thread: new sessions and ones that grow, never another thread's."""

    def __init__(self, ledger: Ledger, seed: str, name: str, ways: tuple[str, ...]) -> None:
        self._ledger, self._random, self._name, self._ways = ledger, random.Random(seed), name, ways
        self._made = 0

    def upload(self) -> Upload:
        sessions = {}
        growing = list(set(self._ledger.sessions) - self._ledger.old)
        mine = sorted(session for session in growing if session.startswith(f"{self._name}x"))
        for session in self._random.sample(mine, min(len(mine), self._random.choice((0, 0, 1, 2)))):
            before = self._ledger.sessions[session]
            if len(before) < 60:
                sessions[session] = [*before, *self._texts(session, len(before))]
        for _ in range(self._random.randint(1, 3)):
            self._made += 1
            session = f"{self._name}x{self._made}x{self._random.getrandbits(40):x}"
            sessions[session] = self._texts(session, 0)
        return Upload(self._random.choice(self._ways), sessions, f"{self._name}-{self._made}.jsonl")

    def _texts(self, session: str, start: int) -> list[str]:
        count = self._random.randint(3, 25)
        return [f"{session} {at} {self._random.choice(TEXTS)}" for at in range(start, start + count)]
