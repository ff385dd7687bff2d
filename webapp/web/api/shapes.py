"""JSON schemas of what the API takes and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webapp.dumps.answer_alarm import WORDS as NOT_IN_LOG
from webapp.store.labels.label_content import EXPECTS, JUDGEMENTS

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """What a request brings or an answer holds: its schema by media type, and an example of it as JSON."""

    about: str
    schemas: Mapping[str, Schema]
    example: Any = None


ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
TIME: Schema = {"type": "string", "format": "date-time"}
BINARY: Schema = {}
"""bytes, as OpenAPI 3.1 says it where a media type stands beside"""
SPAN: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
"""half-open, in code points"""


def ref(name: str) -> Schema:
    """A schema that has a name of its own among the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(optional: dict[str, Schema] | None = None, /, **fields: Schema) -> Schema:
    """An object that always has `fields`, and at times the `optional` ones."""
    return {"type": "object", "properties": fields | (optional or {}), "required": sorted(fields)}


def joined(schema: Schema, **fields: Schema) -> Schema:
    """A record with more fields, all of them always there."""
    optional = {name: inner for name, inner in schema["properties"].items() if name not in schema["required"]}
    return record(optional, **{name: schema["properties"][name] for name in schema["required"]}, **fields)


def filled(schema: Schema, source: object, **values: Any) -> dict[str, Any]:
    """The members that a record always has: of `values`, else what `source` has by that name; times as ISO 8601."""
    return {name: _plain(values[name] if name in values else getattr(source, name)) for name in schema["required"]}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def each(schema: Schema) -> Schema:
    """An object whose keys are data, with values of one shape."""
    return {"type": "object", "additionalProperties": schema}


def maybe(schema: Schema) -> Schema:
    """`schema`, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def whole(least: int, most: int = 2**63 - 1) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


ERROR = record(error=record(code=TEXT, message=TEXT, at=maybe(TEXT)))
PROBLEM = record({"code": TEXT}, at=TEXT, reason=TEXT)
DUMP = record(
    **dict.fromkeys(("sha256", "filename", "format"), TEXT),
    **dict.fromkeys(("id", "bytes", "sessions", "turns", "problems"), COUNT),
    state=one_of(("reading", "done", "failed")),
    answers_missing=FLAG,
    not_in_log=maybe(many(one_of(NOT_IN_LOG))),
    received_at=TIME,
)
_REFUSED = record({"dump": record(id=COUNT)}, filename=TEXT, error=record(code=TEXT, message=TEXT, at=maybe(TEXT)))
READ = record(
    {"dumps": many({"anyOf": [record(dump=ref("Dump"), sessions=many(TEXT), problems=many(PROBLEM)), _REFUSED]})},
    dump=ref("Dump"),
    sessions=many(TEXT),
    problems=many(PROBLEM),
)
UPLOAD = Content(
    "The file, or several as parts called `file`",
    {"application/octet-stream": BINARY, "multipart/form-data": record(file=many(BINARY))},
)
JOB_LINK = record(id=COUNT, url=TEXT)
QUEUED = record({"jobs": many(JOB_LINK)}, job=JOB_LINK)
JOB = record(
    id=COUNT,
    state=one_of(("held", "queued", "running", "done", "failed", "cancelled")),
    filename=TEXT,
    bytes=COUNT,
    cancelled=FLAG,
    progress=each(ANYTHING),
    dump=maybe(COUNT),
    result=maybe(each(ANYTHING)),
    made_at=TIME,
    ended_at=maybe(TIME),
)
_NAMED = record(count=COUNT, sessions=many(record(key=TEXT, id=maybe(TEXT))))
EXPORT = record(
    **dict.fromkeys(("id", "sessions", "bytes"), COUNT),
    state=one_of(("queued", "running", "done", "failed", "cancelled", "removed")),
    cancelled=FLAG,
    ids=maybe(many(TEXT)),
    filters=maybe(each(ANYTHING)),
    of=maybe(COUNT),
    sha256=maybe(TEXT),
    deleted=_NAMED,
    changed=_NAMED,
    error=maybe(record(code=TEXT, message=TEXT, at=maybe(TEXT))),
    url=TEXT,
    file=maybe(TEXT),
    made_at=TIME,
    **dict.fromkeys(("ended_at", "expires_at"), maybe(TIME)),
)
SUGGESTION = record(mapping=maybe(each(TEXT)), paths=many(record(path=TEXT, text=maybe(TEXT))))
PREVIEW = record(
    preview=record(
        records=many({"anyOf": [record(session=TEXT), record(kind=TEXT, raw=maybe(TEXT), model=maybe(TEXT))]}),
        problems=many(PROBLEM),
        error=maybe(TEXT),
    )
)
MAPPING = record({"dry_run": FLAG}, mapping=each(TEXT))

RUN = record(
    id=COUNT,
    profile=TEXT,
    filters=each(ANYTHING),
    state=one_of(("queued", "running", "done", "cancelled", "failed", "interrupted")),
    progress=SHARE,
    counts=maybe(each(COUNT)),
    started_at=maybe(TIME),
    finished_at=maybe(TIME),
)
SHARE_OF = record(share=maybe(SHARE), interval=maybe(many(SHARE)), of=COUNT)
_OUTCOMES = ("right", "wrong", "missed", "spurious", "nothing")
SCORE = record(**dict.fromkeys(_OUTCOMES, COUNT), precision=SHARE_OF, recall=SHARE_OF, by_policy=each(ANYTHING))
PROFILE = record(
    **dict.fromkeys(("name", "version", "help", "group"), TEXT),
    report=maybe(TEXT),
    run=maybe(COUNT),
    of=COUNT,
    not_run=maybe(TEXT),
    score=maybe(SCORE),
)
BOARD = record(
    profiles=many(ref("Profile")),
    by=each(each(each(each(COUNT)))),
    **dict.fromkeys(("compared", "unknown", "disputed", "waiting", "too_long"), COUNT),
)

_TOLD = dict.fromkeys(("cause", "note"), maybe(TEXT)) | {"expects": maybe(one_of(EXPECTS))}
_VALUES = {"expected": ANYTHING, "expected_values": many(ANYTHING)}
LABEL = record(
    _VALUES,
    session=TEXT,
    position=COUNT,
    author=TEXT,
    judgement=one_of(JUDGEMENTS),
    **_TOLD,
    made_at=TIME,
)
NEW_LABEL = record({**_TOLD, **_VALUES, "author": maybe(TEXT), "seen": maybe(TEXT)}, judgement=one_of(JUDGEMENTS))
LABEL_PAGE = record(labels=many(ref("Label")), next=maybe(TEXT))

SCHEMAS: dict[str, Schema] = {
    "Error": ERROR,
    "Dump": DUMP,
    "Job": JOB,
    "Export": EXPORT,
    "Run": RUN,
    "Profile": PROFILE,
    "Label": LABEL,
}
