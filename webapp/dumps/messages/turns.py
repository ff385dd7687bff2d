"""Makes turns of what messages say: texts joined, thinking apart, calls and results one each, spending once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.messages.calls import arguments_of
from webapp.dumps.messages.histories import Histories
from webapp.dumps.messages.metadata import Host
from webapp.dumps.messages.pieces import Piece, call, joined, pieces, text_or_json
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.records import KIND_OF_ROLE, Kind, Turn, changed, role_of
from webapp.dumps.values import first_text, number, text, whole


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
    noted: set[str] = field(default_factory=set)
    """what was noted and is not noted again: roles and kinds that are not known, the first orphan, …"""
    names: Counter[str] = field(default_factory=Counter)
    """those under which answers were found of which nothing else says so, and how many"""
    begun: dict[str, list[str]] = field(default_factory=dict)
    """what came of answers in parts, by their runs, until each comes whole"""
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

    def at_the_end(self, read_by: str) -> Iterator[str]:
        """What to say behind the last entry: by which names it was `read_by`, and of an answer that does not end."""
        if self.names:
            listed = ", ".join(f"`{name}` ({count:,})" for name, count in self.names.most_common(5))
            yield read_by.format(f"name{'s' * (len(self.names) > 1)} {listed}")
        if raw := "".join(part for parts in self.begun.values() for part in parts):
            yield f"the log ends within an answer; of it no more came than {raw[:200]!r}"


def note_once(note: str, conversation: Conversation, about: str | None = None) -> None:
    """Note it the first time that it comes, or anything `about` the same."""
    if (about or note) not in conversation.noted:
        conversation.noted.add(about or note)
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
        listed = from_repr((joined(parts) or "").partition("\n")[2])  # of "Calling tools:" and what Python prints
        role, parts = "assistant", [call(item) for item in listed or () if isinstance(item, dict)] or parts
    answered = text(message.get("tool_call_id"))
    if (
        role == "tool" and not answered and any(piece.kind == "call" for piece in parts)
    ):  # Koog's have their tool's role
        role = "assistant"
    if role in ("tool", "function") and (answered or not any(piece.kind == "result" for piece in parts)):
        parts = [Piece("result", joined(parts), text(message.get("name")) or text(message.get("function")), answered)]
    return turns_of(parts, role, conversation, once=once, **about)


def turns_of(
    parts: list[Piece], role: str | None, conversation: Conversation, once: dict[str, Any] | None = None, **about: Any
) -> list[Turn]:
    """Pieces as turns, at least one: adjoining texts are one turn, empty ones none where something else is said."""
    kind = KIND_OF_ROLE.get(role or "", "event")
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


def result_turns(answer: Any, conversation: Conversation, name: str | None = None) -> list[Turn]:
    """What a tool answered, as a turn of its own."""
    return turns_of([Piece.of_result(answer, name)], "tool", conversation)


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
    if first.id and first.id not in conversation.tools:
        words = f"the call {first.id[:80]!r}, which this result answers, is nowhere before it"
        note_once(words, conversation, "orphans")
    name = first.name or conversation.tools.get(first.id or "") or None
    about = {**about, "agent": name, "parent": first.id or about.get("parent")}
    return Turn(0, "tool_result", raw=first.text, role="tool", failure=first.failure, is_error=first.is_error, **about)


_IN = (
    *("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "prompt_token_count"),
    *("request_tokens", "input"),
)
_OUT = (
    *("output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
    *("candidatesTokenCount", "candidates_token_count", "response_tokens", "output"),
)

_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count", "thoughts")
_REASONING = (
    *("reasoning_tokens", "reasoningTokens", "thinking_tokens", "reasoning_output_tokens", "reasoning"),
    "completion_reasoning_tokens",
)
_DETAILS = (
    *("completion_tokens_details", "output_tokens_details", "outputTokenDetails", "output_token_details"),
    *("completionTokensDetails", "outputTokensDetails", "details"),
)


def spent(usage: Any, cost: Any = None) -> dict[str, Any]:
    """`tokens_in`, `tokens_out`, `tokens_reasoning` and `cost` of a provider's usage object, those that it names."""
    usage = usage if isinstance(usage, dict) else {}
    amounts = {
        "tokens_in": next((whole(usage[key]) for key in _IN if usage.get(key) is not None), None),
        "tokens_out": _tokens_out(usage),
        "tokens_reasoning": _reasoning(usage),
        "cost": number(cost),
    }
    return {key: amount for key, amount in amounts.items() if amount is not None}


def _tokens_out(usage: dict[str, Any]) -> int | None:
    """All tokens of the answer; Google counts those that were thought beside it."""
    out = next((whole(usage[key]) for key in _OUT if usage.get(key) is not None), None)
    beside = next((whole(usage[key]) for key in _THOUGHTS if usage.get(key) is not None), None)
    return out if beside is None else (out or 0) + beside


def _reasoning(usage: dict[str, Any]) -> int | None:
    holders = [usage, *(usage[key] for key in _DETAILS if isinstance(usage.get(key), dict))]
    counts = [whole(holder[key]) for holder in holders for key in (*_REASONING, *_THOUGHTS) if key in holder]
    return next((count for count in counts if count is not None), None)


def with_once(turns: list[Turn], once: dict[str, Any] | None) -> list[Turn]:
    """`turns` with what was spent on the first that the model wrote, else on the first."""
    if not once or not turns:
        return turns
    wrote = next((index for index, turn in enumerate(turns) if turn.kind in ("response", "tool_call")), 0)
    turns[wrote] = changed(turns[wrote], **once)
    return turns


def with_usage(turns: list[Turn], usage: Any, cost: Any = None) -> list[Turn]:
    """As `with_once`, of a provider's usage object and the cost in dollars."""
    return with_once(turns, spent(usage, cost))


def each_with(turns: list[Turn], **values: Any) -> list[Turn]:
    """`turns` with these values where they are not None."""
    values = {key: value for key, value in values.items() if value is not None}
    return [changed(turn, **values) for turn in turns] if values else turns


def each_filled(turns: list[Turn], **values: Any) -> list[Turn]:
    """`turns` with these values where they have none of their own."""
    return [filled(turn, **values) for turn in turns]


def filled(turn: Turn, **values: Any) -> Turn:
    """`turn` with these values where it has none of its own."""
    missing = {key: value for key, value in values.items() if value is not None and getattr(turn, key) is None}
    return changed(turn, **missing) if missing else turn
