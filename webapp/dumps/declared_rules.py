"""The turns of an entry of a declared format: of its rules the first that fits, and those that let others go on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from webapp.dumps.declared_pieces import items_at, result_piece, said_pieces
from webapp.dumps.decoding import json_or_none, opened_literal
from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.bodies import said_turns, unanswered
from webapp.dumps.messages.exchanges import entry_turns, exchange, traced
from webapp.dumps.messages.metadata import stop
from webapp.dumps.messages.pieces import text_or_json
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.messages.streams import is_body
from webapp.dumps.messages.turns import (
    Conversation,
    each_filled,
    each_with,
    error_turns,
    event_turns,
    filled,
    message_turns,
    turns_of,
    with_once,
    with_usage,
)
from webapp.dumps.records import Kind, Turn, changed, role_of
from webapp.dumps.values import as_list, as_object, id_text, moment, number, text, whole

Rule = dict[str, Any]
Spec = dict[str, Any]


@dataclass(slots=True)
class Declaring(Conversation):
    """What later entries of a declared session need: what was said and called, for rules that say a thing `once`."""

    said: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    answered_calls: Counter[int] = field(default_factory=Counter)
    """calls that answers held, by the hash of tool and arguments, which events may say again"""
    first: dict[int, int] = field(default_factory=dict)
    """the entry in which all of this was said first under an id, by their hash"""
    branch_of: dict[str, int | None] = field(default_factory=dict)
    continued: set[str] = field(default_factory=set)
    branch_count: int = 0

    def branch(self, ident: str | None, parent: str | None) -> int | None:
        """The number of the branch on which a message stands: None on the first, else from 1 as they come."""
        number = self.branch_of.get(parent or "")
        if parent and parent in self.continued:
            self.branch_count += 1
            number = self.branch_count
        if parent:
            self.continued.add(parent)
        if ident:
            self.branch_of[ident] = number
        return number


def ruled(
    rules: list[Rule], entry: dict[str, Any], spec: Spec, conversation: Declaring, around: str | None = None
) -> list[Turn]:
    """What the first rule says that fits, and those before it that let others go on; of a role that is `around`."""
    turns: list[Turn] = []
    for rule in rules:
        if not holds(entry, rule.get("when")) or ("first" in rule and conversation.entry):
            continue
        if "note" in rule:
            conversation.notes.append(rule["note"])
        role = rule.get("role") or id_text(at(entry, spec.get("role", "role"))[0])
        role = _renamed(role, spec) or around
        texts = (
            _each(rule, entry, spec, role, conversation)
            if "for" in rule
            else _turns(rule, entry, spec, role, conversation)
        )
        texts = _with(texts, rule, entry, role, conversation)
        is_told = "echoes" in spec and "for" not in rule
        turns += _without_echo(texts, bool(rule.get("echo")), conversation) if is_told else texts
        if not rule.get("go_on"):
            break
    return turns


def _renamed(role: str | None, spec: Spec) -> str | None:
    """A role by the word that this program has for it."""
    roles: dict[str | None, str] = spec.get("roles", {})
    return roles.get(role) or roles.get((role or "").lower(), role)


def _each(rule: Rule, entry: dict[str, Any], spec: Spec, role: str | None, conversation: Declaring) -> list[Turn]:
    """What each item of a list says, by rules of its own, in which it is the entry.

    Rules that are a text are those of the format under that key. `numbered` items are branches; of `versions` the one
    whose number stands there is first. An item with `stop_each` says why the answers before it stopped.
    """
    items = list(enumerate(items_at(entry, rule["for"])))
    if "versions" in rule:
        chosen = at(entry, rule["versions"])[0]
        items = list(enumerate(item for _, item in sorted(items, key=lambda pair: pair[0] != chosen)))
    rules = rule["rules"] if isinstance(rule["rules"], list) else spec[rule["rules"]]
    turns: list[Turn] = []
    for index, item in items:
        placed = ruled(rules, item, spec, conversation, role)
        placed = each_filled(placed, **filling(rule.get("fill_each", {}), item))
        number = index if rule.get("numbered") else (index or None) if "versions" in rule else None
        turns += each_with(placed, sounding=number)
        turns = _stopped(turns, at(item, rule.get("stop_each"))[0])
    return turns


def _with(
    turns: list[Turn], rule: Rule, entry: dict[str, Any], role: str | None, conversation: Declaring
) -> list[Turn]:
    """The turns of a rule with what it says of all of them, or of one."""
    if "once" in rule and turns and all(turn.raw in conversation.said for turn in turns):
        turns = event_turns(text(at(entry, rule["once"])[0]), turns[0].raw) if rule["once"] else []
    turns = _stopped(turns, at(entry, rule.get("stop"))[0])
    turns = each_with(turns, sounding=rule.get("sounding"), failure=text(at(entry, rule.get("failure"))[0]))
    if "asked" in rule or "answered" in rule:
        return turns
    turns = each_filled(turns, **filling(rule.get("fill_of", {}).get(role, rule.get("fill", {})), entry))
    return with_spent(turns, rule, entry)


def _without_echo(turns: list[Turn], is_echo: bool, conversation: Declaring) -> list[Turn]:
    """The turns, without calls of a rule that is an `echo` which an answer before held: each says one again."""
    kept = []
    for turn in turns:
        value = json_or_none(turn.raw or "")
        said = turn.raw if value is None else json.dumps(value, sort_keys=True)
        key = hash((turn.agent, said)) if turn.kind == "tool_call" and said else None
        if key is not None and is_echo and conversation.answered_calls[key]:
            conversation.answered_calls[key] -= 1
            continue
        conversation.answered_calls.update(() if key is None or is_echo else (key,))
        kept.append(turn)
    return kept


def _stopped(turns: list[Turn], word: Any) -> list[Turn]:
    """The turns; those of a model that do not say why it stopped did so for this reason."""
    why = stop(word)
    if why is not None and why.reason == "length" and turns and all(turn.role == "thinking" for turn in turns):
        turns = [*turns, changed(turns[-1], kind="response", raw=None, role="assistant")]  # reasoning was all
    return [filled(turn, stop=why) if turn.written_by_model else turn for turn in turns] if why else turns


def with_spent(turns: list[Turn], rule: Rule, entry: dict[str, Any]) -> list[Turn]:
    """The turns with what was spent on them, as the `usage` and the `cost` of a rule, or of the format, say."""
    if rule.keys().isdisjoint(("usage", "cost")):
        return turns
    usage = rule.get("usage")
    if isinstance(usage, dict):
        usage = {key: _amount(entry, path) for key, path in usage.items()}
    elif usage is not None:
        usage = at(entry, usage)[0]
    return with_usage(turns, usage, at(entry, rule.get("cost"))[0])


def _amount(entry: dict[str, Any], path: str) -> Any:
    """The amount at a path; the sum of several with a plus between them, and of the amounts in a list."""
    values = [at(entry, one)[0] for one in path.split("+")]
    return values[0] if len(values) == 1 and not isinstance(values[0], list) else _total(values)


def _total(values: list[Any]) -> int | None:
    counts = [_total(value) if isinstance(value, list) else whole(value) for value in values]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


_FITTING: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("tokens_in", "tokens_out", "round", "attempt", "sounding"), whole),
    "parent": id_text,
    "sent_at": moment,
    "cost": number,
}


def filling(paths: dict[str, str], entry: dict[str, Any]) -> dict[str, Any]:
    values = {key: at(entry, path)[0] for key, path in paths.items()}
    return {key: _FITTING[key](value) if key in _FITTING else text(value) for key, value in values.items()}


def _turns(rule: Rule, entry: dict[str, Any], spec: Spec, role: str | None, conversation: Declaring) -> list[Turn]:
    about: dict[str, Any] = {"model": text(at(entry, rule["model"])[0])} if "model" in rule else {}
    if "say" in rule:
        say = rule["say"] if isinstance(rule["say"], list) else spec[rule["say"]]
        pieces = said_pieces(say, entry, conversation.notes, conversation.called)
        if not pieces and (rule.get("optional") or "or_event" in rule):
            event = text(at(entry, rule.get("or_event"))[0]) or rule.get("called")
            return [] if "or_event" not in rule else event_turns(event)
        return turns_of(pieces, role, conversation, **about)
    if "turn" in rule:
        return _named_turn(rule, entry, role_of({"role": role}))
    if "message" in rule:
        inner = as_object(at(entry, rule["message"])[0])
        message = {key: value for key, value in inner.items() if key not in rule.get("without", ())}
        message |= {key: at(entry, path)[0] for key, path in rule.get("with", {}).items()}
        message["role"] = role if rule.get("outer_role") else _renamed(text(message.get("role")), spec) or role
        return message_turns(message, conversation, **about)
    if "printed" in rule:
        return _printed(at(entry, rule["printed"])[0], conversation)
    if "known" in rule:
        return entry_turns(as_object(at(entry, rule["known"])[0]), conversation)
    if rule.keys() & {"request", "response", "asked", "answered"}:
        conversation.model = about.get("model", conversation.model)
        return (_exchanged if rule.keys() & {"request", "response"} else _traced)(rule, entry, conversation)
    if "result" in rule:
        return turns_of([result_piece(rule, entry)], "tool", conversation)
    if "error" in rule:
        error = at(entry, rule["error"])[0]
        reason = text(at(entry, rule.get("reason"))[0]) or rule.get("called")
        return error_turns(error, reason)
    if "id" in rule:  # a call that no model made, which results answer
        conversation.tools[id_text(at(entry, rule["id"])[0]) or ""] = text(at(entry, rule.get("name"))[0]) or ""
    value = at(entry, rule.get("text"))[0]
    said = text_or_json(value) if "json" in rule or isinstance(value, str) else None
    return event_turns(text(at(entry, rule.get("event"))[0]) or rule.get("called"), said)


_TOLD_KINDS = get_args(Kind)
_BY_ROLE: dict[str, Kind] = {"user": "prompt", "system": "prompt", "developer": "prompt", "tool": "tool_result"}


def _named_turn(rule: Rule, entry: dict[str, Any], role: str | None) -> list[Turn]:
    """A text as a turn of the kind that the entry names, else of the one that its role means, else a response."""
    raw = text_or_json(at(entry, rule["turn"])[0])
    kind = at(entry, rule.get("kind"))[0]
    if kind not in _TOLD_KINDS:
        kind = "event" if raw is None else _BY_ROLE.get(role or "", "response")
    return [Turn(0, kind, raw, role)]


def _exchanged(rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
    request, response = at(entry, rule.get("request"))[0], at(entry, rule.get("response"))[0]
    request = {"messages": request} if isinstance(request, list) else request
    request = {"prompt": request} if isinstance(request, str) else request
    turns = exchange(request, response, conversation)
    if not any(turn.written_by_model for turn in turns):
        unanswered(entry, turns, conversation)
    return turns


def _traced(rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
    """A call as a tracer logs it; what it is filled with goes on its answers."""
    question, output = at(entry, rule.get("asked"))[0], at(entry, rule.get("answered"))[0]
    prompts, answers = traced(question, output, conversation, bodies=bool(rule.get("bodies")))
    if not answers:
        return with_spent(prompts, rule, entry)
    return [*prompts, *with_spent(each_filled(answers, **filling(rule.get("fill", {}), entry)), rule, entry)]


def _printed(value: Any, conversation: Declaring) -> list[Turn]:
    """What a program printed: an answer where it is a provider's body, or an SDK's object; else an event."""
    raw = value if isinstance(value, str) else "".join(part for part in as_list(value) if isinstance(part, str))
    body = opened_literal(raw)
    if isinstance(body, dict) and is_body(body):
        return exchange(None, body, conversation)
    return said_turns(raw, conversation) if is_printed(raw) else event_turns("printed", raw)


_SPENT = ("tokens_in", "tokens_out", "tokens_reasoning", "cost")


def without_empty(turns: list[Turn]) -> list[Turn]:
    """An error stands in the place of an answer that has no text; what was spent on that stays."""
    empty = [turn for turn in turns if turn.raw is None and turn.kind == "response"]
    if not empty or not any(turn.kind == "error" for turn in turns):
        return turns
    spent = {key: amount for key in _SPENT if (amount := getattr(empty[0], key)) is not None}
    return with_once([placed for placed in turns if placed not in empty], spent)


def branched(turns: list[Turn], entry: dict[str, Any], paths: list[str], conversation: Declaring) -> list[Turn]:
    """The turns on the branch that a message of a tree is on, by its own id and the one that it follows."""
    ident, parent = (id_text(at(entry, path)[0]) for path in paths)
    return each_filled(turns, sounding=conversation.branch(ident, parent), parent=parent)


def repeated(turns: list[Turn], ident: str | None, conversation: Declaring) -> list[Turn]:
    """The turns, marked where an entry of the same id said all of it before."""
    if ident is None or not any(turn.raw for turn in turns):
        return turns
    key = hash((ident, *((turn.kind, turn.raw) for turn in turns)))
    first = conversation.first.setdefault(key, conversation.entry)
    return turns if first == conversation.entry else each_with(turns, duplicate_of=first)
