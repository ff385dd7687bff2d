"""The contract states of turns, an answer at a time: what a text must be depends on the calls beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webapp.contracts.declared import Declaration
from webapp.contracts.held import held_answer, held_call
from webapp.contracts.states import Contract

_MOST = 256
"""declarations that are kept ready"""


class ModelTurn(Protocol):
    """What is asked of a turn: `webapp.dumps.Turn` has it, and so has a stored one."""

    @property
    def kind(self) -> str: ...
    @property
    def raw(self) -> str | None: ...
    @property
    def agent(self) -> str | None: ...
    @property
    def declared(self) -> dict[str, Any] | None: ...
    @property
    def stop(self) -> tuple[str, str] | None: ...
    @property
    def arguments(self) -> str | None: ...


class Holder:
    """Holds answers against their own request's declarations, else against those that were given with the file."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._given = None if given is None else Declaration.of(given, "file")
        self._known: dict[int, tuple[dict[str, Any], Declaration]] = {}

    def answer(self, turns: Sequence[ModelTurn]) -> list[Contract | None]:
        """The contract of each turn of one answer; None for what no model wrote."""
        has_calls = any(turn.kind == "tool_call" and turn.arguments != "provider" for turn in turns)
        return [self._of(turn, has_calls) for turn in turns]

    def _of(self, turn: ModelTurn, has_calls: bool) -> Contract | None:
        declaration = self._declaration(turn.declared)
        if turn.kind == "tool_call" and turn.arguments == "provider":
            return Contract("not_declared", turn.agent, reason="the provider runs this tool, and declares it")
        if turn.kind == "tool_call":
            return held_call(turn.raw, turn.agent, declaration, is_free=turn.arguments == "free")
        if turn.kind != "response":
            return None
        is_refusal = turn.stop is not None and turn.stop[0] == "refused"
        return held_answer(turn.raw or "", declaration, has_calls=has_calls, is_refusal=is_refusal)

    def _declaration(self, declared: dict[str, Any] | None) -> Declaration | None:
        if declared is None:
            return self._given
        known = self._known.get(id(declared))
        if known is not None:  # the object is held here, so that nothing else has its id
            return known[1]
        own = Declaration.of(declared, "file" if declared.get("source") == "file" else "request")
        if own.tools is None and self._given is not None:
            own = _with_tools(own, self._given)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id(declared)] = (declared, own)
        return own


def _with_tools(own: Declaration, given: Declaration) -> Declaration:
    """A request that names no tools, with those that were given."""
    return Declaration(given.source, given.tools, given.has_open_tools, own.choice, own.answer, own.answer_schema)
