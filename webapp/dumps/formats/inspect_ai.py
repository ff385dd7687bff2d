"""Inspect AI logs, .json and .eval: each sample's epoch is a session, its attachments resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from webapp.dumps.archive_members import zip_objects
from webapp.dumps.base import Context, Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import nested, with_list
from webapp.dumps.json_path import at
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.metadata import stop_of
from webapp.dumps.messages.turns import each_with, error_turns, message_turns, spent
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_text, id_text, moment, text
from webapp.jsontext import rebuilt

_SAMPLE = re.compile(r"(^|/)samples/[^/]+\.json$")
_HEADER = re.compile(r"\A(?:header|_journal/start)\.json\Z")
_REFERENCES = ("attachment://", "tc://")
_PARSING = "parsing"


@dataclass(slots=True)
class _Sample(Conversation):
    attachments: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    """the model events by the id of the message that they gave"""


class InspectAi(Format):
    shapes = 'Inspect AI (inspect eval, logs/*; .json {"version", "eval", "samples"} or .eval)'
    id_key, id_name = "id", "message id"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "zip":
            has_header = any(map(_HEADER.search, head.names))
            return 95 if has_header and ("header.json" in head.names or any(map(_SAMPLE.search, head.names))) else 0
        return 95 if isinstance(head.members.get("eval"), dict) and head.keys & {"samples", "plan", "status"} else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "zip":
            yield from _archive(source)
            return
        log, samples = with_list(source, head, "samples")
        for entry in samples:
            yield entry if isinstance(entry, Problem) else _sample(log, *entry)

    def conversation(self, context: Context) -> _Sample:
        model = text(as_object(as_object(context.get("log")).get("eval")).get("model"))
        return _Sample(model, attachments=as_object(context.get("attachments")), calls=_model_calls(context))

    def read_entry(self, entry: dict[str, Any], conversation: _Sample) -> list[Turn]:
        attachments = conversation.attachments
        message = rebuilt(entry, partial(_resolved, attachments=attachments)) if attachments else entry
        return _message(message, conversation)


plugin = InspectAi()


def _archive(source: Source) -> Sessions:
    """The samples of an .eval file, one at a time; the header says what was run."""
    log: dict[str, Any] = {}
    for header in zip_objects(source, _HEADER):
        if not isinstance(header, Problem) and (header[0] == "header.json" or not log):
            log = header[1]
    for entry in zip_objects(source, _SAMPLE):
        yield entry if isinstance(entry, Problem) else _sample(log, *entry)


def _sample(log: dict[str, Any], at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    messages = value.pop("messages", None)
    if not isinstance(messages, list):
        return Problem(at, f"messages: expected a list, found {kind_of(messages)}; skipped")
    task = as_object(log.get("eval"))
    run = first_text(task, "eval_id", "run_id", "task_id") or "eval"
    name = f"{run}/{id_text(value.get('id')) or at}/{id_text(value.get('epoch')) or 1}"
    failure = [(f"{at}, error", {"sample_error": value["error"]})] if first_text(value.get("error"), "message") else []
    entries = chain(nested(at, "messages", messages), failure)
    return SessionEntries(name, entries, text(task.get("task")), extra={**value, "log": log})


def _message(value: dict[str, Any], sample: _Sample) -> list[Turn]:
    if isinstance(error := value.get("sample_error"), dict):
        return error_turns(error["message"], "sample")
    event = sample.calls.get(str(value.get("id")), {})
    once = spent(as_object(event.get("output")).get("usage"))
    sample.declares(declared_in(event))
    about: dict[str, Any] = {
        "sent_at": moment(event.get("timestamp")),
        "stop": stop_of(event) if "content" in value else None,  # an answer without it is lost, not empty
        "declared": sample.declared,
    }
    turns = message_turns(value, sample, once=once, model=text(value.get("model")), **about)
    return each_with(turns, failure=_parsing_error(value))


def _parsing_error(value: dict[str, Any]) -> str | None:
    """What a tool message says of arguments that could not be parsed."""
    error = value.get("error")
    if value.get("role") != "tool" or not isinstance(error, dict) or error.get("type") != _PARSING:
        return None
    return f"{_PARSING}: {text(error.get('message')) or text(value.get('content')) or ''}"


def _model_calls(context: Context) -> dict[str, dict[str, Any]]:
    events = context.get("events") or as_object(context.get("transcript")).get("events")
    calls: dict[str, dict[str, Any]] = {}
    for event in as_list(events):
        name = text(at(event, "output.choices[0].message.id")[0])
        if name and isinstance(event, dict) and event.get("event") == "model":
            calls.setdefault(name, event)
    return calls


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """A text that is a reference as what it refers to; anything else as it is."""
    is_reference = isinstance(value, str) and value.startswith(_REFERENCES)
    whole = attachments.get(value.partition("://")[2]) if is_reference else None
    return whole if isinstance(whole, str) else value
