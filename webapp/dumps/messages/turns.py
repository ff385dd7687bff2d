"""Makes turns of what messages say: texts joined, thinking apart, calls and results one each, spending once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.messages.histories import Histories
from webapp.dumps.messages.pieces import Path, Piece, joined, pieces
from webapp.dumps.records import Kind, Turn, changed
from webapp.dumps.values import number, text, whole

PlacedTurn = tuple[Turn, Path | None]
"""A turn, not yet numbered, and where its text stands in the entry word for word."""

_ROLES = {
    **dict.fromkeys(("model", "ai", "bot", "chatbot", "gpt"), "assistant"),
    **dict.fromkeys(("human", "prompter"), "user"),
    "toolResult": "tool",
}
_KINDS: dict[str, Kind] = {
    "assistant": "response",
    **dict.fromkeys(("system", "developer", "user"), "prompt"),
    **dict.fromkeys(("tool", "function", "environment"), "tool_result"),
}
_IN = (
    *("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "prompt_token_count"),
    "input",
)
_OUT = (
    *("output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
    *("candidatesTokenCount", "candidates_token_count", "output"),
)


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
    orphaned: bool = False
    """whether it was noted that a result answers a call that was not read"""
    shortened: bool = False
    """whether it was noted that a request left out what stood in the one before"""
    strangers: set[str] = field(default_factory=set)
    """what was noted of roles and kinds that are not known"""
    notes: list[str] = field(default_factory=list)
    """what of the entry could not be read, though the rest was"""

    def unfinished(self) -> str | None:
        """What to say behind the last entry, where an answer had begun and did not end."""
        return None


def spent(usage: Any, cost: Any = None) -> dict[str, Any]:
    """`tokens_in`, `tokens_out` and `cost` of a provider's usage object, those that it names."""
    usage = usage if isinstance(usage, dict) else {}
    amounts = {
        "tokens_in": next((whole(usage[key]) for key in _IN if usage.get(key) is not None), None),
        "tokens_out": next((whole(usage[key]) for key in _OUT if usage.get(key) is not None), None),
        "cost": number(cost),
    }
    return {key: amount for key, amount in amounts.items() if amount is not None}


def role_of(message: dict[str, Any]) -> str | None:
    """The role, by the word this program uses; LangChain calls it `type`."""
    role = message.get("role")
    if not isinstance(role, str) and message.get("type") in ("human", "ai", "system", "tool", "function"):
        role = message["type"]
    if not isinstance(role, str):
        return None
    return _ROLES.get(role) or (role.lower() if role.lower() in _KINDS else _ROLES.get(role.lower(), role))


def _note_once(note: str, conversation: Conversation) -> None:
    if note not in conversation.strangers:
        conversation.strangers.add(note)
        conversation.notes.append(note)


def note_unknown_kind(kind: Any, conversation: Conversation) -> None:
    """Note that an entry is of a kind that is not known, the first time that it comes."""
    _note_once(f"the kind {str(kind)[:80]!r} is not known; what is of it is kept as an event", conversation)


def message_turns(
    message: dict[str, Any], conversation: Conversation, at: Path = (), once: dict[str, Any] | None = None, **about: Any
) -> list[PlacedTurn]:
    """The turns of one message. `about` goes on every turn, `once` (what was spent) on the first the model wrote."""
    role = role_of(message)
    parts = pieces(message, at)
    answered = text(message.get("tool_call_id"))
    if role == "tool" and any(piece.kind == "call" for piece in parts):  # Koog's calls have their tool's role
        role = "assistant"
    if role in ("tool", "function") and (answered or not any(piece.kind == "result" for piece in parts)):
        raw, path = joined(parts)
        parts = [Piece("result", raw, path, text(message.get("name")) or text(message.get("function")), answered)]
    return turns_of(parts, role, conversation, once=once, **about)


def turns_of(
    parts: list[Piece], role: str | None, conversation: Conversation, once: dict[str, Any] | None = None, **about: Any
) -> list[PlacedTurn]:
    """Pieces as turns, at least one: adjoining texts are one turn, empty ones none where something else is said."""
    kind = _KINDS.get(role or "", "event")
    model = about.pop("model", None) or conversation.model
    conversation.notes.extend(piece.text or "" for piece in parts if piece.kind == "unread")
    parts = [piece for piece in parts if piece.kind != "unread"]
    if kind == "event" and role != "thinking" and any(piece.kind == "text" and piece.text for piece in parts):
        who = "the role is missing" if role is None else f"the role {role[:80]!r} is not known"
        _note_once(f"{who}; what it says is kept as an event", conversation)
    turns = [_turn(group, kind, role, conversation, model, about) for group in _grouped(parts)]
    if not turns:
        turns = [(Turn(0, kind, role=role, model=model if kind == "response" else None, **about), None)]
    return with_once(turns, once)


def text_turns(
    raw: str, path: Path | None, role: str | None, conversation: Conversation, **about: Any
) -> list[PlacedTurn]:
    """A text as the turn of `role`."""
    return turns_of([Piece("text", raw, path)], role, conversation, **about)


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
) -> PlacedTurn:
    first = group[0]
    if first.kind == "text":
        raw, path = joined(group)
        return Turn(0, kind, raw=raw, role=role, model=model if kind == "response" else None, **about), path
    if first.kind == "thinking":
        return Turn(0, "event", raw=first.text, role="thinking", model=model, **about), first.path
    if first.kind == "call":
        if first.id:
            conversation.tools[first.id] = first.name or ""
        about = {**about, "agent": first.name, "model": model, "tool_calls": [first.call], "failure": first.failure}
        return Turn(0, "tool_call", raw=first.text, role=role, **about), first.path
    if first.id and first.id not in conversation.tools and not conversation.orphaned:
        conversation.orphaned = True
        conversation.notes.append(f"the call {first.id[:80]!r}, which this result answers, is nowhere before it")
    name = first.name or conversation.tools.get(first.id or "") or None
    about = {**about, "agent": name, "parent": first.id or about.get("parent")}
    return Turn(0, "tool_result", raw=first.text, role="tool", failure=first.failure, **about), first.path


def with_once(turns: list[PlacedTurn], once: dict[str, Any] | None) -> list[PlacedTurn]:
    """`turns` with what was spent on the first that the model wrote, else on the first."""
    if not once or not turns:
        return turns
    wrote = next((index for index, (turn, _) in enumerate(turns) if turn.kind in ("response", "tool_call")), 0)
    turn, path = turns[wrote]
    turns[wrote] = (changed(turn, **once), path)
    return turns


def each_with(turns: list[PlacedTurn], **values: Any) -> list[PlacedTurn]:
    """`turns` with these values where they are not None."""
    values = {key: value for key, value in values.items() if value is not None}
    return [(changed(turn, **values), path) for turn, path in turns] if values else turns


def each_filled(turns: list[PlacedTurn], **values: Any) -> list[PlacedTurn]:
    """`turns` with these values where they have none of their own."""
    return [(filled(turn, **values), path) for turn, path in turns]


def filled(turn: Turn, **values: Any) -> Turn:
    """`turn` with these values where it has none of its own."""
    missing = {key: value for key, value in values.items() if value is not None and getattr(turn, key) is None}
    return changed(turn, **missing) if missing else turn


def unplaced(turns: list[PlacedTurn]) -> list[PlacedTurn]:
    """`turns` of a text that was put together, whose parts have no place in the entry."""
    return [(turn, None) for turn, _ in turns]


def numbered(count: int, source: Any, turns: Iterable[PlacedTurn]) -> Iterator[Turn]:
    """Number the entry's turns; the first carries the entry, with None where its own text stands.

    `source` itself is not changed: whoever gave it may have to read it again.
    """
    for index, (turn, path) in enumerate(turns):
        if index:
            yield changed(turn, entry=count)
        elif path is None or turn.raw is None or not _leads_to(source, path, turn.raw):
            yield changed(turn, entry=count, source=source)
        else:
            yield changed(turn, entry=count, source=_without(source, path), raw_at=path)


def _leads_to(value: Any, path: Path, raw: str) -> bool:
    """Whether `raw` stands at `path` word for word."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return value is raw or bool(value == raw)


def _without(value: Any, path: Path) -> Any:
    """`value` with None at `path`; only what leads there is copied."""
    if not path:
        return None
    copied = value.copy()
    copied[path[0]] = _without(value[path[0]], path[1:])
    return copied
