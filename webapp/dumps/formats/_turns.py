"""Makes turns of what messages say: texts joined, thinking apart, calls and results one each, spending once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import number, text, whole
from webapp.dumps.formats._chat import Path, Piece, joined, pieces
from webapp.dumps.records import Kind, Turn, changed

Found = tuple[Turn, Path | None]
"""A turn, not yet numbered, and where its text stands in the entry word for word."""

_ROLES = {"model": "assistant", "ai": "assistant", "human": "user", "toolResult": "tool"}
_KINDS: dict[str, Kind] = {
    "assistant": "response",
    "system": "prompt",
    "developer": "prompt",
    "user": "prompt",
    "tool": "tool_result",
    "function": "tool_result",
    "environment": "tool_result",
}
_IN = ("input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount", "prompt_token_count", "input")
_OUT = (
    "output_tokens",
    "completion_tokens",
    "outputTokens",
    "candidatesTokenCount",
    "candidates_token_count",
    "output",
)


@dataclass(slots=True)
class Talk:
    """What later messages of a session need of earlier ones."""

    model: str | None = None
    tools: dict[str, str] = field(default_factory=dict)
    """the tool's name by the id of its call"""


def spent(usage: Any, cost: Any = None) -> dict[str, Any]:
    """`tokens_in`, `tokens_out` and `cost` of a provider's usage object, those that it names."""
    usage = usage if isinstance(usage, dict) else {}
    known = {
        "tokens_in": next((whole(usage[key]) for key in _IN if usage.get(key) is not None), None),
        "tokens_out": next((whole(usage[key]) for key in _OUT if usage.get(key) is not None), None),
        "cost": number(cost),
    }
    return {key: value for key, value in known.items() if value is not None}


def role_of(message: dict[str, Any]) -> str | None:
    """The role, by the word this program uses; LangChain calls it `type`."""
    role = message.get("role")
    if not isinstance(role, str) and message.get("type") in ("human", "ai", "system", "tool", "function"):
        role = message["type"]
    return _ROLES.get(role, role) if isinstance(role, str) else None


def message_turns(
    message: dict[str, Any], talk: Talk, at: Path = (), once: dict[str, Any] | None = None, **about: Any
) -> list[Found]:
    """The turns of one message. `about` goes on every turn, `once` (what was spent) on the first the model wrote."""
    role = role_of(message)
    said = pieces(message, at)
    answered = text(message.get("tool_call_id"))
    if role in ("tool", "function") and (answered or not any(piece.what == "result" for piece in said)):
        raw, path = joined(said)
        said = [Piece("result", raw, path, text(message.get("name")) or text(message.get("function")), answered)]
    return turns_of(said, role, talk, once=once, **about)


def turns_of(
    said: list[Piece], role: str | None, talk: Talk, once: dict[str, Any] | None = None, **about: Any
) -> list[Found]:
    """Pieces as turns, at least one: adjoining texts are one turn, empty ones none where something else is said."""
    kind = _KINDS.get(role or "", "event")
    model = about.pop("model", None) or talk.model
    found = [_turn(group, kind, role, talk, model, about) for group in _grouped(said)]
    if not found:
        found = [(Turn(0, kind, role=role, model=model if kind == "response" else None, **about), None)]
    return with_once(found, once)


def _grouped(said: list[Piece]) -> Iterator[list[Piece]]:
    """Adjoining texts together, every other piece alone."""
    texts: list[Piece] = []
    rich = any(piece.what != "text" or piece.text for piece in said)
    for piece in said:
        if piece.what == "text":
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
    group: list[Piece], kind: Kind, role: str | None, talk: Talk, model: str | None, about: dict[str, Any]
) -> Found:
    first = group[0]
    if first.what == "text":
        raw, path = joined(group)
        return Turn(0, kind, raw=raw, role=role, model=model if kind == "response" else None, **about), path
    if first.what == "thinking":
        return Turn(0, "event", raw=first.text, role="thinking", model=model, **about), first.path
    if first.what == "call":
        return _call(first, role, talk, model, about), first.path
    name = first.name or talk.tools.get(first.id or "")
    about = {**about, "agent": name, "parent": first.id or about.get("parent")}
    return Turn(0, "tool_result", raw=first.text, role="tool", failure=first.failure, **about), first.path


def _call(piece: Piece, role: str | None, talk: Talk, model: str | None, about: dict[str, Any]) -> Turn:
    if piece.id and piece.name:
        talk.tools[piece.id] = piece.name
    about = {**about, "agent": piece.name}
    return Turn(
        0,
        "tool_call",
        raw=piece.text,
        role=role,
        model=model,
        tool_calls=[piece.call],
        failure=piece.failure,
        **about,
    )


def with_once(found: list[Found], once: dict[str, Any] | None) -> list[Found]:
    """`found` with what was spent on the first turn that the model wrote, else on the first."""
    if not once or not found:
        return found
    wrote = next((index for index, (turn, _) in enumerate(found) if turn.kind in ("response", "tool_call")), 0)
    turn, path = found[wrote]
    found[wrote] = (changed(turn, **once), path)
    return found


def numbered(count: int, source: Any, found: Iterable[Found]) -> Iterator[Turn]:
    """Number the entry's turns; the first carries the entry, with None where its own text stands.

    `source` itself is not changed: whoever gave it may have to read it again.
    """
    for index, (turn, path) in enumerate(found):
        if index:
            yield changed(turn, entry=count)
        elif path is None or turn.raw is None:
            yield changed(turn, entry=count, source=source)
        else:
            yield changed(turn, entry=count, source=_without(source, path), raw_at=path)


def _without(value: Any, path: Path) -> Any:
    """`value` with None at `path`; only what leads there is copied."""
    if not path:
        return None
    copied = value.copy()
    copied[path[0]] = _without(value[path[0]], path[1:])
    return copied
