"""The state of a session that may grow, as bytes: another process goes on from it, and folds what is new alone."""

from __future__ import annotations

from webapp import saved_state
from webapp.dumps.read_tail import FEWEST
from webapp.findings import own
from webapp.saved_state import NotSaved
from webapp.store.write.facets import Facets
from webapp.store.write.session_state import SessionState, rules_for
from webapp.store.write.tally import Tally


def as_bytes(state: SessionState) -> bytes | None:
    """All that a session's turns left; None where these are few, or it cannot be saved."""
    if state.rules is None or len(state.tally.positions) < FEWEST:
        return None
    rules = (_own_rules(), state.rules.states())
    try:
        return saved_state.saved((state.home, state.tally, state.facets, state.raw_bytes, rules))
    except NotSaved:
        return None


def restored(session_id: int, home: str, fold: bytes) -> SessionState | None:
    """The state that a session was saved with; None where it cannot be read, or is another's."""
    try:
        read_home, tally, facets, raw_bytes, (own_rules, states) = saved_state.restored(fold)
    except NotSaved:
        return None
    rules = rules_for(home)
    is_whole = isinstance(tally, Tally) and isinstance(facets, Facets)
    if not is_whole or read_home != home or own_rules != _own_rules() or not rules.go_on(states):
        return None
    return SessionState(session_id, home, tally, facets, raw_bytes, rules)


def _own_rules() -> list[tuple[object, ...]]:
    """What the rules of one's own are, without their compiled patterns."""
    return [
        (rule.name, rule.severity, rule.where, rule.wanted, rule.is_literal, rule.kinds)
        for rule in own.configured().values()
    ]
