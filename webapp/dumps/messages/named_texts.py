"""Finds what was asked and answered in JSON of no known shape, by what its keys are called: "user_msg", "llmOutput"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from webapp.dumps.decoding import opened
from webapp.dumps.messages.bodies import is_answer, is_served
from webapp.dumps.messages.calls import CALL_LISTS, CAME_OF, TOOLS, as_json, came_of_call, named_call
from webapp.dumps.messages.stream_kinds import is_event
from webapp.dumps.messages.streams import parsed_body
from webapp.dumps.values import MODEL_NAMES, WORDS, are_messages, as_object, asks, is_model

Side = Literal["system", "user", "thinking", "assistant", "call", "result"]
Path = tuple[str | int, ...]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
_NAMES = {kind: frozenset(words.split()) for kind, words in WORDS.items()}
_ANSWERS, _WEAK, _PROMPTS, _ELSE = (_NAMES[kind] for kind in ("answers", "weak", "prompts", "else"))
_THOUGHTS, _REFERENCES, _BOTS, _SAYINGS = (_NAMES[kind] for kind in ("thoughts", "references", "bots", "sayings"))
_JUDGED, KEYED, _RIGHT, _OF_SERVER, _LOGGED = (
    _NAMES[kind] for kind in ("judged", "keyed", "right", "of_servers", "logged")
)
_BESIDE: dict[str, tuple[Side, set[str]]] = {
    **dict.fromkeys(("ai", "bot", "chatbot"), ("assistant", {"user", "human", "you", "question", "query", "prompt"})),
    **dict.fromkeys(("final_text", "finalText"), ("assistant", {"model", "model_id", "model_name", "usage", "trace"})),
    **dict.fromkeys(("human", "you"), ("user", {"ai", "bot", "chatbot", "assistant"})),
}
"""who speaks under a key where one of some others stands beside it"""
_BODY = re.compile(r"\s*(?:\[\s*)?\{\s*\"")
_ADDRESS = re.compile(r"<[\w. ]{1,120} at 0x[0-9a-f]+>")
"""what Python prints of an object that says nothing"""
_WHETHER_OR_WHEN = re.compile(r"(?i:true|false)\Z|\d{4}-\d\d-\d\d[T ]\d\d:")
_DEEPEST, _SHOWN = 8, 50
_ORDER: dict[Side, int] = {"system": 0, "user": 1, "thinking": 2, "assistant": 3, "result": 4}


class NamedText(NamedTuple):
    """A text, a message or a provider's body, who it is of, and where it stands.

    The path of what a text that is JSON says leads to that text.
    """

    side: Side
    value: Any
    path: Path


def named_texts(value: Any, at: Path = (), side: Side | None = None, most: int | None = None) -> Iterator[NamedText]:
    """What a value says by the names of its keys; at one level what was asked comes before what was answered.

    Of long lists no more than `most` items are looked at.
    """
    if len(at) > _DEEPEST:
        return
    if isinstance(value, str) and side and _BODY.match(value) and (inner := _in_body(value, at, side)):
        yield from inner
    elif isinstance(value, str) and side == "result":
        yield NamedText(side, {"role": "tool", "content": value}, at)
    elif isinstance(value, str):
        says_nothing = side == "assistant" and (is_served(None, value) or _ADDRESS.fullmatch(value))
        if side and value.strip() and not says_nothing:
            yield NamedText(side, value, at)
    elif isinstance(value, list) and value and all(map(is_event, value)):
        yield NamedText("assistant", value, at)
    elif side == "assistant" and isinstance(value, list) and is_answer(body := parsed_body(value)):
        yield NamedText(side, body, at)
    elif isinstance(value, list):
        for index, inner in enumerate(value[:most]):
            yield from named_texts(inner, (*at, index), side, most)
    elif isinstance(value, dict) and "role" in value and ("content" in value or "tool_calls" in value):
        yield NamedText("assistant" if value["role"] == "assistant" else "user", value, at)
    elif isinstance(value, dict) and ("answer_start" in value or "jsonrpc" in value):
        return
    elif isinstance(value, dict) and is_answer(value) and (side == "assistant" or "choices" in value):
        yield NamedText("assistant", value, at)
    elif isinstance(value, dict):
        messages, taken = named_call(value, is_listed=len(at) > 1 and at[-2] in CALL_LISTS)
        value = {key: inner for key, inner in value.items() if key not in taken}
        by_model = at and _ANSWERS.intersection(_words(str(at[-1]))) and all(is_model(str(key)) for key in value)
        side = _side_of_event(value) or ("assistant" if by_model and value else side)
        sides = [(_side(str(key), side, value), key) for key in value if not _REFERENCES & set(_words(str(key)))]
        sides = _answering(sides, value, at)
        is_answered = any(role == "assistant" and isinstance(value[key], str) for role, key in sides)
        is_asked = any(role == "user" and asks(value[key]) for role, key in sides)
        for key_side, key in sorted(sides, key=lambda pair: _ORDER[pair[0] or "assistant"]):
            below = value[key]
            if is_answered and key_side != "assistant" and isinstance(below, dict):  # in which the right one may be
                below = {name: below[name] for name in below if name not in _RIGHT}
            found = list(named_texts(below, (*at, key), key_side, most))
            if key_side == "assistant" and is_asked and not is_answered and not any(map(_is_said, found)):
                found = list(_objects(below, (*at, key)))
            yield from found
        for message in messages:
            yield NamedText("result" if message["role"] == "tool" else "call", message, at)


def _has_prompt(holder: dict[str, Any]) -> bool:
    return any(_PROMPTS.intersection(_words(str(key))) for key in holder)


def _is_said(named: NamedText) -> bool:
    return named.side in ("assistant", "call")


def _objects(value: Any, at: Path) -> Iterator[NamedText]:
    """What a model answered as JSON that was decoded: an object in which something is said, or several of them."""
    for number, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
        texts = [text for inner in as_object(item).values() for text in (inner if isinstance(inner, list) else [inner])]
        is_served_so = not _OF_SERVER.isdisjoint(as_object(item))
        if any(isinstance(text, str) and text.count(" ") > 1 for text in texts) and not is_served_so:
            yield NamedText("assistant", as_json(item), at if number is None else (*at, number))


def _answering(sides: list[tuple[Side | None, str]], value: dict[str, Any], at: Path) -> list[tuple[Side | None, str]]:
    """Who speaks, without verdicts, right answers, and what was made of an answer that stands beside it as it came."""
    names = {key: _words(str(key)) for role, key in sides if role == "assistant"}
    raw = {key for key in names if "raw" in names[key] and isinstance(value[key], str | list) and value[key]}
    is_judged = not value.keys().isdisjoint({*_JUDGED, *TOOLS}) or not all(map(_is_weak, names))
    others = {key for key in names if (raw and key not in raw) or (is_judged and _is_weak(key))}
    others |= _RIGHT if value.keys() & KEYED or at[-1:] == ("prompts",) else set()
    others |= {key for key in names if {*at[-2:-1]} & {*CALL_LISTS} and isinstance(value[key], str)}  # of calls
    answering = [(None if key in others else role, key) for role, key in sides]
    return sorted(answering, key=lambda pair: "final" in _words(str(pair[1])))  # which is the last


def _in_body(value: str, at: Path, side: Side) -> list[NamedText]:
    """What a provider's body, or a request's, or a list of messages says that stands there as text."""
    inner = opened(value)
    body = as_object(inner)
    if side == "assistant" and isinstance(inner, dict) and isinstance(inner.get("message"), dict):
        body = inner["message"] if inner["message"].get("role") in ("assistant", "model") else {}
    if side == "assistant" and body.get("role") == "model":  # Genkit's
        body = {**body, "role": "assistant"}
    if side == "assistant" and is_answer(body) and body.keys() & {"choices", "candidates", "role"}:
        return [NamedText(side, body, at)]
    listed: Any = (
        inner if isinstance(inner, list) else side == "user" and (body.get("messages") or body.get("contents"))
    )
    if not are_messages(listed):
        return []
    said = [message for message in listed if (message["role"] in ("assistant", "model")) is (side == "assistant")]
    texts = [NamedText(side, message, at) for message in said]
    system = body.get("system") if isinstance(inner, dict) else None
    return [NamedText("system", system, at), *texts] if isinstance(system, str) and system else texts


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]


def _is_weak(key: Any) -> bool:
    words = set(_words(str(key)))
    return bool(words & _WEAK) and not words & (_ANSWERS - _WEAK)


def _side(key: str, around: Side | None, holder: dict[str, Any]) -> Side | None:
    """Who speaks under a key, by its name, and by what stands around it where the name alone says little."""
    words = _words(key)
    if key in _THOUGHTS and isinstance(holder[key], str) and not holder.keys() & _JUDGED:
        return "thinking"
    if words[-1:] == ["reasoning"] and len(words) > 1 and isinstance(holder[key], str):
        return "thinking"
    if is_model(key) and (around == "assistant" or (isinstance(holder[key], str) and _has_prompt(holder))):
        return "assistant"
    is_told = words[-1:] == ["generated"] and _WHETHER_OR_WHEN.match(str(holder[key])) is not None
    if _ELSE.intersection(words) or words[-1:] == ["model"] or words == ["user", "agent"] or is_told:
        return None
    if "system" in words and not _ANSWERS.intersection(words):
        return "system"
    if came_of_call(key, holder):
        return "result"
    if key in _BESIDE and holder.keys() & _BESIDE[key][1]:
        return _BESIDE[key][0]
    if _ANSWERS.intersection(words) or (_BOTS.intersection(words) and _SAYINGS.intersection(words)):
        return "user" if words[0] in ("user", "human") else "assistant"
    if key in ("data", "payload") or (key == "message" and around == "assistant" and not holder.keys() & _OF_SERVER):
        return _side_of_event(holder) or (around if key == "message" else None)
    if is_said((key,)) and _is_of_model(words, holder):
        return "assistant"
    if key in ("message", "msg") and around is None and holder.keys() & _LOGGED:
        return None
    if _PROMPTS.intersection(words):
        return "user"
    if key in ("body", "raw"):
        return around if not isinstance(holder.get("status"), int) else None  # what a server answered
    if key in ("content", "text", "value"):
        texts = [str(other) for other in holder if isinstance(holder[other], str)]
        is_asked = around is None and any(_ANSWERS & set(_words(other)) for other in texts)
        is_of_model = holder.keys() & {"model", "agent", "agent_name"} and not holder.keys() & _NAMES["of_others"]
        return around or ("user" if is_asked else "assistant" if is_of_model else None)
    if key in ("q", "Q"):
        return "user"
    return "assistant" if key in ("a", "A") and holder.keys() & {"q", "Q"} else None


def is_said(path: Path) -> bool:
    """Whether what stands there is called only as what anybody says, or what came as it is."""
    words = _words(str(path[-1])) if path else []
    return bool(words) and words[0] in _NAMES["said"] | {"raw"} and _ANSWERS.isdisjoint(words)


def is_derived(path: Path) -> bool:
    """Whether what stands there is called as what was made of answers: a result, a final or extracted answer."""
    names = {word for step in path if isinstance(step, str) for word in _words(step)}
    return bool(names & _NAMES["derived"]) or any(map(_is_weak, path[-1:]))


def _is_of_model(words: list[str], holder: dict[str, Any]) -> bool:
    """Whether a key beside what is said, or is kept as it came, names a model or an agent."""
    beside = {word for other in holder for word in _words(str(other)) if isinstance(holder[other], str)}
    asked = words[0] == "raw" and any(asks(holder[other]) for other in holder if _PROMPTS & set(_words(str(other))))
    is_known = words[0] != "raw" or words[-1] in _NAMES["raw"]
    return is_known and (asked or not beside.isdisjoint(_NAMES["speakers"]))


def _side_of_event(value: dict[str, Any]) -> Side | None:
    """Who speaks in a record that names what is said in it: {"type": "llm_response", "data": {…}}."""
    kinds = " ".join(str(value.get(key)).lower() for key in ("type", "event", "event_type", "kind"))
    if re.search(r"\buser_(?:message|input|query|prompt)\b", kinds):
        return "user"
    return "assistant" if re.search(rf"\b{_SAID_BY}\b", kinds) else None


_MESSAGE_OF = re.compile(r"(user|human|assistant|ai|api|agent|bot|system)[_.-]?message", re.I)
_BY_USER, _BY_BOT, _WHO, SAID, _INNER = (
    tuple(WORDS[key].split()) for key in ("by_user", "by_bot", "who", "said_under", "said_in")
)
_SAID_BY, _ASKED_BY = WORDS["said_by"], WORDS["asked_by"]
_EVENTS = re.compile(rf"prompt|completion|tool_(?:call_)?(?:result|output)|{_ASKED_BY}|{_SAID_BY}")
_OF_SERVERS = ("request", "response")
"""events named by what was said in them; a request or a response alone may be a server's"""
_FURTHER = {"user": f"|{_ASKED_BY}", "assistant": f"|{_SAID_BY}|{MODEL_NAMES}"}
_ROLES = tuple(
    (role, re.compile("|".join(WORDS[f"role_{role}"].split()) + _FURTHER.get(role, "")))
    for role in ("user", "assistant", "system", "tool", "thinking")
)


def spoken(value: Any) -> dict[str, Any] | None:
    """A message as {"role", "content"}, the latter unless it only calls; None where nobody who is known speaks."""
    if isinstance(value, dict) and value and all(str(key)[:1].isupper() for key in value):  # {"From", "Text"}
        value = {str(key)[:1].lower() + str(key)[1:]: inner for key, inner in value.items()}
    for holder in (value, *(as_object(value).get(key) for key in _INNER)):
        if isinstance(holder, dict) and (role := speaker(holder)):
            key = next((key for key in CAME_OF if role == "tool" and holder.get(key)), None) or _said_under(holder)
            rest = {name: inner for name, inner in holder.items() if name not in (*_BY_USER, *_WHO, *SAID, *_INNER)}
            if key is not None or any(map({**as_object(holder.get("additional_kwargs")), **holder}.get, CALL_LISTS)):
                return {**rest, "role": role, **({} if key is None else {"content": holder[key]})}
    return _within(value)


def _within(value: Any) -> dict[str, Any] | None:
    """As `spoken`, where who speaks stands around what is said: {"event": "user_message", "data": {"text"}}."""
    role = speaker(value) if isinstance(value, dict) else None
    for inner in (as_object(value.get(key)) for key in _INNER) if role else ():
        named = (key for key in inner if key in _PROMPTS | _ANSWERS and isinstance(inner[key], str))
        if (key := _said_under(inner) or next(named, None)) is not None:
            return {**{name: inner[name] for name in CALL_LISTS if name in inner}, "role": role, "content": inner[key]}
    return None


def speaker(holder: dict[str, Any]) -> str | None:
    """Who speaks in a message, where that is known, whether or not anything is said."""
    for key in _BY_USER:
        if isinstance(holder.get(key), bool):
            return "user" if holder[key] else "assistant"
    for writer in (holder, *(as_object(holder.get(key)) for key in ("author", "from", "user", "sender"))):
        if (is_bot := next((writer[key] for key in _BY_BOT if isinstance(writer.get(key), bool)), None)) is not None:
            return "assistant" if is_bot else "user"
    for key in (*_WHO, "event", "event_type", "kind"):
        who = holder.get(key)
        if isinstance(who, str) and (of_message := _MESSAGE_OF.fullmatch(who)):
            who = of_message[1]
        elif not (_EVENTS.fullmatch(str(who).lower()) or (key in _WHO and (key != "type" or who not in _OF_SERVERS))):
            continue
        words = [who] if isinstance(who, str) else [as_object(who).get(name) for name in ("role", "type", "name")]
        for word in (word.strip().lower() for word in words if isinstance(word, str)):
            if role := next((role for role, pattern in _ROLES if pattern.fullmatch(word)), None):
                return role
    return None


def _said_under(holder: dict[str, Any]) -> str | None:
    """The key of what was said; an empty text where there is nothing else."""
    for key in SAID:
        if (value := holder.get(key)) and (isinstance(value, str) or "parts" in as_object(value)):
            return key
        if isinstance(value, list) and any(isinstance(part, dict) or " " in str(part) for part in value):
            return key  # not the ids of blocks that stand elsewhere
    return next((key for key in SAID if holder.get(key) == ""), None)


def is_chat(items: list[Any]) -> bool:
    """Whether two sides speak in most of the first items, one of which is a model."""
    objects = [item for item in items[:_SHOWN] if isinstance(item, dict)]
    messages = [message for item in objects if (message := spoken(item)) is not None]
    roles = {message["role"] for message in messages}
    return 2 * len(messages) >= len(objects) and {"assistant", "user"} <= roles
