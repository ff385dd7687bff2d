"""Makes turns of what messages say: texts joined, thinking apart, calls and results one each, spending once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.messages.beside import Host
from webapp.dumps.messages.calls import arguments_of
from webapp.dumps.messages.histories import Histories
from webapp.dumps.messages.pieces import Piece, call, joined, pieces, text_or_json
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.messages.turn_values import each_filled as each_filled
from webapp.dumps.messages.turn_values import each_with as each_with
from webapp.dumps.messages.turn_values import filled as filled
from webapp.dumps.messages.turn_values import spent as spent
from webapp.dumps.messages.turn_values import with_once as with_once
from webapp.dumps.messages.turn_values import with_usage as with_usage
from webapp.dumps.records import Kind, Turn, changed
from webapp.dumps.values import first_text, text

_ROLES = {
    **dict.fromkeys(("model", "ai", "bot", "chatbot", "gpt", "llm", "agent"), "assistant"),
    **dict.fromkeys(("human", "prompter"), "user"),
    "toolResult": "tool",
    "tool-response": "tool",
}
_KINDS: dict[str, Kind] = {
    "assistant": "response",
    **dict.fromkeys(("system", "developer", "user"), "prompt"),
    **dict.fromkeys(("tool", "function", "environment"), "tool_result"),
}


Path = tuple[str | int, ...]


@dataclass(slots=True)
class Conversation:
    """What later entries of a session need of earlier ones."""

    model: str | None = None
    """of answers that name none"""
    entry: int = 0
    """the number of the entry that is being read"""
    tools: dict[str, str] = field(default_factory=dict)
    """the tool's name by the id of its call"""
    histories: Histories = field(default_factory=Histories)
    """the messages of all requests, which later ones repeat"""
    answered: set[int] = field(default_factory=set)
    """hashes of what was answered, wherever"""
    last_answers: list[str] = field(default_factory=list)
    """what the last request was answered, without white space"""
    request_branch: int | None = None
    """of the last request: None on the first, else from 1"""
    declared: dict[str, Any] | None = None
    """what the last request declares"""
    declared_beside: dict[str, Any] | None = None
    """what the entry that is being read declares anywhere"""
    declared_always: dict[str, Any] | None = None
    """what is declared for all of the session"""
    hosts: list[Host] = field(default_factory=list)
    """who may have served the answers of the entry that is being read, as its bodies say"""
    hosts_always: list[Host] = field(default_factory=list)
    """… and those of all of the session"""
    orphaned: bool = False
    """whether it was noted that a result answers a call that was not read"""
    shortened: bool = False
    """whether it was noted that a request left out what stood in the one before"""
    strangers: set[str] = field(default_factory=set)
    """what was noted of roles and kinds that are not known"""
    notes: list[str] = field(default_factory=list)
    """what of the entry could not be read, though the rest was"""

    def declares(self, declared: dict[str, Any] | None) -> None:
        """Note what a request declares; what the one before declared, too, stays the same object."""
        if declared != self.declared:
            self.declared = declared

    def declares_beside(self, declared: dict[str, Any] | None) -> None:
        """As `declares`, of an entry."""
        if declared != self.declared_beside:
            self.declared_beside = declared

    def unfinished(self) -> str | None:
        """What to say behind the last entry, where an answer had begun and did not end."""
        return None


def role_of(message: dict[str, Any]) -> str | None:
    """The role, by the word this program uses; LangChain calls it `type`."""
    role = message.get("role")
    if not isinstance(role, str) and message.get("type") in ("human", "ai", "system", "tool", "function"):
        role = message["type"]
    if not isinstance(role, str):
        return None
    return _ROLES.get(role) or (role.lower() if role.lower() in _KINDS else _ROLES.get(role.lower(), role))


def note_once(note: str, conversation: Conversation) -> None:
    if note not in conversation.strangers:
        conversation.strangers.add(note)
        conversation.notes.append(note)


def note_unknown_kind(kind: Any, conversation: Conversation) -> None:
    """Note that an entry is of a kind that is not known, the first time that it comes."""
    note_once(f"the kind {str(kind)[:80]!r} is not known; what is of it is kept as an event", conversation)


def message_turns(
    message: dict[str, Any], conversation: Conversation, once: dict[str, Any] | None = None, **about: Any
) -> list[Turn]:
    """The turns of one message. `about` goes on every turn, `once` (what was spent) on the first the model wrote."""
    role = role_of(message)
    parts = pieces(message)
    if role == "tool-call":  # of smolagents, which tells calls as a text
        role, parts = "assistant", [*_told_calls(joined(parts) or "")] or parts
    answered = text(message.get("tool_call_id"))
    if role == "tool" and any(piece.kind == "call" for piece in parts):  # Koog's calls have their tool's role
        role = "assistant"
    if role in ("tool", "function") and (answered or not any(piece.kind == "result" for piece in parts)):
        parts = [Piece("result", joined(parts), text(message.get("name")) or text(message.get("function")), answered)]
    return turns_of(parts, role, conversation, once=once, **about)


def _told_calls(raw: str) -> Iterator[Piece]:
    """The calls of "Calling tools:" and what Python prints of a list of them."""
    calls = from_repr(raw.partition("\n")[2])
    yield from (call(item) for item in calls or () if isinstance(item, dict))


def turns_of(
    parts: list[Piece], role: str | None, conversation: Conversation, once: dict[str, Any] | None = None, **about: Any
) -> list[Turn]:
    """Pieces as turns, at least one: adjoining texts are one turn, empty ones none where something else is said."""
    kind = _KINDS.get(role or "", "event")
    model = about.pop("model", None) or conversation.model
    conversation.notes.extend(piece.text or "" for piece in parts if piece.kind == "unread")
    parts = [piece for piece in parts if piece.kind != "unread"]
    if kind == "event" and role != "thinking" and any(piece.kind == "text" and piece.text for piece in parts):
        who = "the role is missing" if role is None else f"the role {role[:80]!r} is not known"
        note_once(f"{who}; what it says is kept as an event", conversation)
    turns = [_turn(group, kind, role, conversation, model, about) for group in _grouped(parts)]
    if not turns:
        turns = [Turn(0, kind, role=role, model=model if kind == "response" else None, **about)]
    return with_once(turns, once)


def text_turns(raw: str, role: str | None, conversation: Conversation, **about: Any) -> list[Turn]:
    """A text as the turn of `role`."""
    return turns_of([Piece("text", raw)], role, conversation, **about)


def event_turns(role: str | None = None, raw: str | None = None, **about: Any) -> list[Turn]:
    """What is no message, as a turn of its own."""
    return [Turn(0, "event", raw, role, **about)]


def error_turns(error: Any, role: str | None = None, **about: Any) -> list[Turn]:
    """What went wrong, as a turn of its own: a text, or the message of an object, else that as JSON."""
    reason = first_text(error, "message") or text_or_json(error)
    return [Turn(0, "error", reason, role, **about)]


def result_turns(
    answer: Any, conversation: Conversation, name: str | None = None, ident: str | None = None
) -> list[Turn]:
    """What a tool answered, as a turn of its own."""
    return turns_of([Piece.of_result(answer, name, ident)], "tool", conversation)


def _grouped(parts: list[Piece]) -> Iterator[list[Piece]]:
    """Adjoining texts together, every other piece alone."""
    texts: list[Piece] = []
    rich = any(piece.kind != "text" or piece.text for piece in parts)
    for piece in parts:
        if piece.kind == "text":
            if piece.text or not rich:
                texts.append(piece)
            continue
        if texts:
            yield texts
            texts = []
        yield [piece]
    if texts:
        yield texts


def _turn(
    group: list[Piece],
    kind: Kind,
    role: str | None,
    conversation: Conversation,
    model: str | None,
    about: dict[str, Any],
) -> Turn:
    first = group[0]
    if first.kind == "text":
        return Turn(0, kind, raw=joined(group), role=role, model=model if kind == "response" else None, **about)
    if first.kind in ("thinking", "other"):
        role = "thinking" if first.kind == "thinking" else first.name
        return Turn(0, "event", raw=first.text, role=role, model=model, **about)
    if first.kind == "call":
        if first.id:
            conversation.tools[first.id] = first.name or ""
        about = {**about, "agent": first.name, "model": model, "tool_calls": [first.call], "failure": first.failure}
        return Turn(0, "tool_call", raw=first.text, role=role, arguments=arguments_of(first), **about)
    if first.id and first.id not in conversation.tools and not conversation.orphaned:
        conversation.orphaned = True
        conversation.notes.append(f"the call {first.id[:80]!r}, which this result answers, is nowhere before it")
    name = first.name or conversation.tools.get(first.id or "") or None
    about = {**about, "agent": name, "parent": first.id or about.get("parent")}
    return Turn(0, "tool_result", raw=first.text, role="tool", failure=first.failure, **about)


def numbered(count: int, source: Any, turns: Iterable[Turn], about: dict[str, Any] | None = None) -> Iterator[Turn]:
    """Number the entry's turns; the first carries the entry, with None where its own text stands.

    What is `about` the entry goes on turns that do not say it. `source` itself is not changed: whoever gave it may
    have to read it again.
    """
    for index, turn in enumerate(turns):
        missing = {key: value for key, value in about.items() if getattr(turn, key) is None} if about else {}
        path = None if index or turn.raw is None else _place_of(turn.raw, source)
        if index:
            yield changed(turn, entry=count, **missing)
        elif path is None:
            yield changed(turn, entry=count, source=source, **missing)
        else:
            yield changed(turn, entry=count, source=_without(source, path), raw_at=path, **missing)


def _place_of(raw: str, value: Any) -> Path | None:
    """Where in a value this very text stands; None for what was put together."""
    if not isinstance(value, dict | list):
        return None
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if inner is raw:
            return (step,)
        if isinstance(inner, dict | list) and (path := _place_of(raw, inner)) is not None:
            return (step, *path)
    return None


def _without(value: Any, path: Path) -> Any:
    """`value` with None at `path`; only what leads there is copied."""
    if not path:
        return None
    copied = value.copy()
    copied[path[0]] = _without(value[path[0]], path[1:])
    return copied
