"""A session's derived state as a fold: it sees each turn with its traces once, and owns all that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from webapp import fitting, parsing
from webapp.capture import specs
from webapp.contracts.contract import Contract
from webapp.contracts.held import Holder
from webapp.dumps.messages.declarations import of_service
from webapp.dumps.messages.metadata import NOT_IN_LOG
from webapp.dumps.records import SessionStart, Turn
from webapp.findings.rule import RuleFinding, TurnView
from webapp.findings.rulebook import RuleRunner
from webapp.parsing import Profile, Trace, engine
from webapp.store.db.ids import TURNS_A_SESSION, Kind, Note
from webapp.store.write.facets import Facets, error_lines
from webapp.store.write.failed_responses import FailedResponses
from webapp.store.write.parser import OURS, UNKNOWN, Home
from webapp.store.write.tally import BROKEN_AS_ONE, MODEL_KINDS, NOT_RUN, READABLE, PlacedTurn, Tally

_MOST_TOGETHER = 1_000
"""turns of one entry that are held together"""


class Answers:
    """Gives turns on with their contracts, an entry at a time: what a text must be depends on the calls beside it."""

    def __init__(self, tools: Mapping[str, Any] | None = None) -> None:
        self._holder = Holder(tools)
        self._open: list[PlacedTurn] = []

    def add(self, placed: PlacedTurn) -> list[tuple[PlacedTurn, Contract | None]]:
        """Take the next turn; those of the entry before it, where it begins another and repeats nothing of this one."""
        is_new = placed.original is None and self._open and self._open[0].turn.entry != placed.turn.entry
        given = self.rest() if is_new or len(self._open) >= _MOST_TOGETHER else []
        self._open.append(placed)
        return given

    def rest(self) -> list[tuple[PlacedTurn, Contract | None]]:
        """The turns that were not given yet."""
        turns, self._open = self._open, []
        contracts = iter(self._holder.answer([placed.turn for placed in turns if placed.original is None]))
        return [(placed, next(contracts) if placed.original is None else None) for placed in turns]


@dataclass(slots=True)
class SessionState:
    """Counters, strip, facets, findings and search texts of a session, as of the turns that were seen."""

    session_id: int
    home: str
    """the profile that its program used; "unknown" where nobody said"""
    ingested_at: datetime | None = None
    """when it came in: the time of a session whose turns have none"""
    service: InitVar[str | None] = None
    tally: Tally = field(init=False, default_factory=Tally)
    raw_bytes: int = field(init=False, default=0)
    facets: Facets = field(init=False)
    rules: RuleRunner = field(init=False)
    answers: Answers = field(init=False)
    failed: FailedResponses = field(init=False)
    notes: list[Note] = field(init=False, default_factory=list)
    """what is searched beside the raw texts"""
    findings: list[RuleFinding] = field(init=False, default_factory=list)
    has_schemas: bool = field(init=False)
    contracts: list[dict[str, Any]] = field(init=False, default_factory=list)
    """rows of `TurnContract`, but for those of which the log says nothing"""

    def __post_init__(self, service: str | None) -> None:
        """Raises `BadSpec`."""
        self.has_schemas = bool(specs.schemas())
        self.facets, self.failed = Facets(self.home), FailedResponses(self.session_id, self.home)
        self.rules, self.answers = RuleRunner(self.home, readers), Answers(of_service(service))

    def see(self, placed: PlacedTurn) -> None:
        """Take the next turn in, once it has its place in the tally."""
        turn = placed.turn
        self.tally.saw(turn.model if turn.kind in MODEL_KINDS else None, turn.sent_at)
        self.failed.see(placed)
        if placed.original is None:
            self._count(placed)
        for earlier, contract in self.answers.add(placed):
            self._hold(earlier, contract)

    def fail(self, ordinal: int, text: str) -> bool:
        """Note the recorded failure of a turn that was seen; False where one was noted before."""
        if not self.tally.fail(ordinal):
            return False
        original = self.tally.originals[ordinal]
        self.facets.failure(text)
        self._note("failure", original, text)
        return True

    def settle(self) -> None:
        """All turns have come: let the rules speak."""
        for placed, contract in self.answers.rest():
            self._hold(placed, contract)
        self.findings = self.rules.findings()
        for finding in self.findings:
            self.facets.add("finding", finding.rule)

    def columns(self) -> dict[str, Any]:
        """The derived columns of `session`."""
        tally = self.tally
        values: dict[str, Any] = {**tally.counters(), "models": list(tally.models)}
        failing = values["failed_count"] if self.home != UNKNOWN else tally.failing_as_json()
        values |= {"failing_count": failing, "failed": failing > 0}
        values |= {"raw_bytes": self.raw_bytes, "happened_at": self.happened_at}
        return values | {"started_at": tally.started_at, "ended_at": tally.ended_at}

    @property
    def happened_at(self) -> datetime:
        return self.tally.started_at or self.ingested_at or datetime.now(UTC)

    def turn_id(self, ordinal: int) -> int:
        return self.session_id * TURNS_A_SESSION + ordinal

    def _home_trace(self, placed: PlacedTurn) -> Trace | None:
        """None where home is unknown or was not run."""
        return placed.traces[0] if placed.traces and placed.traces[0].profile == self.home else None

    def _count(self, placed: PlacedTurn) -> None:
        turn = placed.turn
        self.facets.turn(turn)
        self.raw_bytes += len((turn.raw or "").encode("utf-8", "surrogatepass"))
        if placed.traces:
            home, ours = self._home_trace(placed), placed.traces[-1]
            not_read = NOT_RUN if self.home != UNKNOWN else None
            self.tally.verdicts(placed.ordinal, not_read if home is None else home.verdict, ours.verdict)
            if self.home == UNKNOWN and turn.kind == "response":
                self.facets.text(ours.verdict)
            self.facets.response(turn.model, placed.traces)
            if home is not None and home.verdict == "failed":
                self._note("error", placed.ordinal, error_lines(home))
        for trace in placed.other_traces:
            self.facets.trace(trace)

    def _hold(self, placed: PlacedTurn, contract: Contract | None) -> None:
        """Count how a response keeps what its request declares, and show it to the rules.

        Where that asks for no form of an answer, a schema that was given for what is read of it may.
        """
        turn = placed.turn
        is_open = self.has_schemas and contract is not None and contract.state == "not_declared"
        home = self._home_trace(placed)
        if is_open and turn.kind == "response" and placed.traces:
            trace = home or next((ours for ours in placed.traces if ours.verdict == "clean"), None)
            fit = fitting.held(trace, turn.raw or "", turn.phase) if trace else None
            contract = fit or contract
        if contract is not None:
            stop = placed.turn.stop.reason if placed.turn.stop else NOT_IN_LOG
            self.facets.contract(stop, contract.state, *([BROKEN_AS_ONE] if contract.is_broken else []))
            if placed.turn.kind == "tool_call":
                self.facets.call(placed.turn, contract.state)
            if contract.state != "not_declared":
                is_plain = contract == Contract("kept", contract.tool, "request")
                detail = None if is_plain else contract.as_dict()
                row = {"turn_id": self.turn_id(placed.ordinal), "state": contract.state, "detail": detail}
                self.contracts.append(row)
            if contract.is_broken:
                self.tally.break_contract(placed.ordinal, contract.state)
                self.failed.hold(placed, contract)
        has_failed = turn.failure is not None or (contract is not None and contract.is_broken)
        if placed.traces and home is None and self.home != UNKNOWN and not has_failed:
            self.facets.not_run(turn.model)
        self.rules.see(turn_view(placed, home, contract))

    def _note(self, kind: Kind, ordinal: int, text: str) -> None:
        self.notes.append(Note(kind, self.turn_id(ordinal), text))


_MOST_KEPT = 256
_LONGEST_KEPT = 16 * 1024


def is_known(name: str) -> bool:
    """Whether there is a profile of that name."""
    try:
        engine.profile(name)
    except engine.UnknownProfile:
        return False
    return True


class SessionParser:
    """Runs the profiles of one session, of the `names`, and one `also`; texts that come again soon are not parsed
    again."""

    def __init__(self, home: str, also: Profile | None = None) -> None:
        profiles = {name: engine.profile(name) for name in ((OURS,) if home == UNKNOWN else (home, OURS))}
        profiles |= {} if also is None else {also.name: also}

        def parsed(raw: str, name: str) -> Trace:
            return engine.parse(raw, profiles[name], lambda: self.trace(raw, OURS))

        self.names = tuple(profiles)
        self._parsed, self._remembered = parsed, lru_cache(maxsize=2 * _MOST_KEPT)(parsed)

    def trace(self, raw: str, name: str) -> Trace:
        """What one of the profiles makes of a text."""
        return self._remembered(raw, name) if len(raw) <= _LONGEST_KEPT else self._parsed(raw, name)

    def traces(self, raw: str) -> tuple[Trace, ...]:
        """The trace of the home profile if it is known, then `fencepost`'s where that is another."""
        return tuple(self.trace(raw, name) for name in self.names)


@lru_cache(maxsize=128)
def readers(raw: str) -> list[str]:
    """The profiles that read a value from `raw`; remembered, since a session is folded again and again."""
    read = parsing.readings(raw)
    return [name for name in parsing.profiles() if read(name).verdict in READABLE]


def turn_view(placed: PlacedTurn, home: Trace | None, contract: Contract | None) -> TurnView:
    """A turn as the rules see it; where home is unknown or was not run it has `fencepost`'s trace alone."""
    turn, again = placed.turn, placed.original is not None
    return TurnView(
        placed.position,
        turn.entry,
        "again" if again else turn.kind,
        turn.kind if again else turn.role,
        turn.agent,
        turn.model,
        turn.phase,
        turn.sounding,
        turn.round,
        turn.raw,
        turn.tool_calls,
        turn.failure,
        placed.answers,
        turn.sent_at,
        home,
        placed.traces[-1] if placed.traces else None,
        None if turn.stop is None else turn.stop.reason,
        turn.most_rounds,
        turn.tokens_in,
        turn.tokens_out,
        turn.cost,
        turn.tokens_reasoning,
        turn.is_error,
        contract,
        turn.declared,
        turn.host,
    )


class SessionInput(NamedTuple):
    """A session as a dump gave it, and the home profile it is read under; its turns can be gone through again."""

    start: SessionStart
    turns: Iterable[Turn]
    home: Home


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What became of one session of a dump: `new`, `grown`, or `found` where all of it was there."""

    what: Literal["new", "grown", "found"]
    id: int
    key: str
    external_id: str
    new_turns: int


def columns(session: SessionInput, external_id: str, revision: int, dump_id: int) -> dict[str, Any]:
    """The columns of `session` that are known before its turns, but for its key."""
    start, home, now = session.start, session.home, datetime.now(UTC)
    return {
        "dump_id": dump_id,
        "external_id": external_id,
        "revision": revision,
        "title": start.title,
        "source_format": start.source_format[:64],
        "home_profile": home.profile,
        "home_source": home.source,
        "service": start.service,
        "models": [],
        "ingested_at": now,
        "happened_at": now,
        "extra": start.extra or None,
        "stale": True,
    }
