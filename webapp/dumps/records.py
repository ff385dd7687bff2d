"""What a dump format yields, in order: sessions, their turns, and problems with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from webapp.refusals import BadInput

Kind = Literal["prompt", "response", "tool_call", "tool_result", "error", "event"]
MODEL_KINDS = ("response", "tool_call")
"""what turns are that a model writes"""


class UnknownFormat(BadInput):
    """No format recognises the dump; the message says what was looked for, `speaks` whether it seems to be dialogue."""

    status, code = 415, "unknown_format"

    def __init__(self, message: str = "", *, speaks: bool = False) -> None:
        super().__init__(message)
        self.speaks = speaks


class Stop(NamedTuple):
    """Why a model stopped: `reason` is a word of this program (`messages.metadata`), `said` the log's own."""

    reason: str
    said: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry, or part of one, that could not be read; everything else of the dump is kept."""

    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session begins: every `Turn` up to the next `SessionStart` belongs to it; an id comes once a dump.

    `home` is the profile that the session's own program used, where the format or the log says so; `service` is
    what the program calls itself.
    """

    external_id: str
    source_format: str
    home: str | None = None
    title: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    service: str | None = None


_HOLDERS = (dict, list)
Steps = tuple[str | int, ...]
"""Keys and indexes that lead to a text within an entry."""


@dataclass(slots=True)
class Turn:
    """One turn as a format understood it; it never changes once its entry is read. Frozen it would take thrice as long.

    `entry` counts the session's entries from 0; one entry may give several turns (text, then tool calls), of
    which the first carries `source`. `source` is the entry as it came, with None in place of `raw` where
    `raw_at` (keys and indexes) says that `raw` stands in it word for word; so the entry can be made whole again.
    `duplicate_of` and `answers` are `entry` numbers of this session: the entry that says the same thing (its
    logger wrote it twice), and the response that this error answers. Times are UTC, costs US dollars.

    Of what a model wrote, `declared` is what its own request declares (`messages.declarations`), one object for turns
    that declare the same, and `stop` says why the model stopped; None where the dump does not say. `arguments` says of
    a native call whether `raw` is what the model wrote, was decoded by the log and written anew, is no JSON, or is of a
    tool that the provider runs. `host` is who served the model: a provider, else an address, else a fingerprint.
    `tokens_reasoning` are those of `tokens_out` that were thought.

    `is_error` says of a tool's result that the log calls it one; `most_rounds` of an event how many rounds may follow.
    """

    entry: int
    kind: Kind
    raw: str | None = None
    role: str | None = None
    agent: str | None = None
    model: str | None = None
    phase: str | None = None
    sounding: int | None = None
    round: int | None = None
    attempt: int | None = None
    parent: str | None = None
    failure: str | None = None
    tool_calls: list[Any] | None = None
    duplicate_of: int | None = None
    answers: int | None = None
    sent_at: datetime | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    cost: float | None = None
    source: Any = None
    raw_at: Steps | None = None
    declared: dict[str, Any] | None = None
    stop: Stop | None = None
    arguments: Literal["written", "decoded", "free", "provider"] | None = None
    host: str | None = None
    is_error: bool | None = None
    most_rounds: int | None = None

    @property
    def written_by_model(self) -> bool:
        """Whether this is a response, whose text is parsed: a model's text, or a tool call's arguments."""
        return self.raw is not None and self.kind in MODEL_KINDS


_PLACES = {field.name: place for place, field in enumerate(fields(Turn))}
_values = attrgetter(*_PLACES)


def changed(turn: Turn, **values: Any) -> Turn:
    """`turn` with other values, as `dataclasses.replace` makes it but in half the time: formats do this a lot."""
    fields_of_turn = list(_values(turn))
    for name, value in values.items():
        fields_of_turn[_PLACES[name]] = value
    return Turn(*fields_of_turn)


def numbered(count: int, source: dict[str, Any], turns: list[Turn], about: Mapping[str, Any]) -> Iterator[Turn]:
    """Number the entry's turns, which are nobody else's; the first carries the entry, None where its own text stands.

    What is `about` the entry goes on turns that do not say it. `source` itself is not changed: whoever gave it may
    have to read it again.
    """
    for index, turn in enumerate(turns):
        turn.entry = count
        for name, value in about.items():
            if getattr(turn, name) is None:
                setattr(turn, name, value)
        if not index:
            turn.raw_at = None if turn.raw is None else _place_of(turn.raw, source)
            turn.source = source if turn.raw_at is None else _with(source, turn.raw_at, None)
        yield turn


def _place_of(raw: str, value: dict[str, Any] | list[Any]) -> Steps | None:
    """Where in a value this very text stands; None for what was put together."""
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if inner is raw:
            return (step,)
        if isinstance(inner, _HOLDERS) and (path := _place_of(raw, inner)) is not None:
            return (step, *path)
    return None


def whole_entry(source: Any, raw: str | None, raw_at: Sequence[str | int] | None) -> Any:
    """The entry as it came: `source` with `raw` back at `raw_at` (keys and indexes). `source` itself is not changed.

    Without `raw_at`, `source` is the whole entry already. Raises `KeyError`, `IndexError` or `TypeError` where
    `raw_at` leads nowhere, which is a fault of the format that gave it.
    """
    return source if raw_at is None else _with(source, raw_at, raw)


def _with(value: Any, path: Sequence[str | int], inner: Any) -> Any:
    """`value` with `inner` at `path`; only what leads there is copied."""
    if not path:
        return inner
    copied = value.copy()
    copied[path[0]] = _with(value[path[0]], path[1:], inner)
    return copied


Record = SessionStart | Turn | Problem
Entry = tuple[str, dict[str, Any]]
"""An entry with its place in the dump ("entries[3]", "line 4")."""
Entries = Iterator[Entry | Problem]


_ROLES = {
    **dict.fromkeys(("model", "ai", "bot", "chatbot", "gpt", "llm", "agent"), "assistant"),
    **dict.fromkeys(("human", "prompter"), "user"),
    "toolResult": "tool",
    "tool-response": "tool",
}
KIND_OF_ROLE: dict[str, Kind] = {
    "assistant": "response",
    **dict.fromkeys(("system", "developer", "user"), "prompt"),
    **dict.fromkeys(("tool", "function", "environment"), "tool_result"),
}


def role_of(message: dict[str, Any]) -> str | None:
    """The role, by the word this program uses; LangChain calls it `type`."""
    role = message.get("role")
    if not isinstance(role, str) and message.get("type") in ("human", "ai", "system", "tool", "function"):
        role = message["type"]
    if not isinstance(role, str):
        return None
    return _ROLES.get(role) or (role.lower() if role.lower() in KIND_OF_ROLE else _ROLES.get(role.lower(), role))
