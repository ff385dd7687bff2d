"""Sessions, turns, traces, failure groups and comparisons as the API writes them."""

from __future__ import annotations

from webapp.contracts.contract import STATES
from webapp.dumps.messages.metadata import REASONS
from webapp.parsing.words import KINDS
from webapp.store.sessions.filters import NUMBERS
from webapp.store.write.tally import VERDICTS
from webapp.web.api.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SHARE,
    SPAN,
    TEXT,
    TIME,
    Schema,
    each,
    joined,
    many,
    maybe,
    one_of,
    record,
    ref,
)

VERDICT = one_of(VERDICTS)
_COUNTED = record(responses=COUNT, failed=COUNT, rescued=COUNT)
SESSION = record(
    **dict.fromkeys(("id", "key", "format", "home", "home_profile", "strip", "url"), TEXT),
    **dict.fromkeys(("title", "home_source", "service"), maybe(TEXT)),
    **dict.fromkeys(("started_at", "ended_at"), maybe(TIME)),
    **{"revision": COUNT} | {number.name: COUNT for number in NUMBERS},
    shape=each(COUNT),
    models=many(TEXT),
    findings=each(COUNT),
)
FLAGS = many(record(flag=TEXT, span=SPAN))
HOME = joined(_COUNTED, id=TEXT, key=TEXT, home=TEXT, home_source=maybe(TEXT), home_evidence=maybe(TEXT))
UNDER = record(profile=TEXT, run=COUNT, of=COUNT, reason=maybe(TEXT))
MATCH = record(
    where=one_of(("id", "title", "failure", "error", "note", "raw")),
    position=maybe(COUNT),
    fragments=many({"type": "array", "prefixItems": [TEXT, FLAG], "minItems": 2, "maxItems": 2}),
    hit=maybe(SPAN),
    starts=FLAG,
    ends=FLAG,
)
SESSION_PAGE = record(
    {"under": ref("Under")},
    sessions=many(ref("Session")),
    next=maybe(TEXT),
    total=maybe(COUNT),
    hidden=maybe(COUNT),
    open_ended=FLAG,
    facets=each(each(COUNT)),
    cut=many(TEXT),
    matches=each(many(ref("Match"))),
)
RESPONSE = record(
    contract=maybe(one_of(tuple(STATES))),
    **dict.fromkeys(("session", "key", "home_profile", "url"), TEXT),
    **dict.fromkeys(("role", "agent", "phase", "model", "recorded_failure", "preview"), maybe(TEXT)),
    **dict.fromkeys(("revision", "position", "bytes"), COUNT),
    kind=one_of(KINDS),
    failed=FLAG,
    rescued=FLAG,
    sent_at=maybe(TIME),
    verdicts=each(maybe(VERDICT)),
    flags=FLAGS,
)
RESPONSE_PAGE = record(
    {"under": ref("Under")},
    responses=many(ref("Response")),
    next=maybe(TEXT),
    total=maybe(COUNT),
    at_least=FLAG,
    looked_at=COUNT,
    cut=FLAG,
)
TURN_LINE = record(
    contract=maybe(one_of(tuple(STATES))),
    **dict.fromkeys(("role", "agent", "phase", "model", "recorded_failure", "preview", "judgement"), maybe(TEXT)),
    **dict.fromkeys(("sounding", "round", "attempt", "tokens_in", "tokens_out"), maybe({"type": "integer"})),
    **dict.fromkeys(("position", "length", "duplicates"), COUNT),
    **dict.fromkeys(("home", "fencepost"), maybe(VERDICT)),
    kind=one_of(KINDS),
    failed=FLAG,
    rescued=FLAG,
    sent_at=maybe(TIME),
    cost=maybe(NUMBER),
)
FINDING = record(rule=TEXT, severity=one_of(("high", "medium", "low")), reason=TEXT, turns=many(COUNT), detail=ANYTHING)
EDIT = record(repair=TEXT, span=SPAN, old=TEXT, new=TEXT)
FAULT = record(type=TEXT, message=TEXT, said=maybe(TEXT), **dict.fromkeys(("at", "line", "column"), maybe(COUNT)))
SITE = record(**dict.fromkeys(("file", "function", "source", "through"), TEXT), line=COUNT)
ATTEMPT = record(
    {"site": SITE},
    strategy=TEXT,
    span=SPAN,
    outcome=one_of(("accepted", "rejected", "failed")),
    reason=maybe(TEXT),
    edits=many(ref("Edit")),
    score=maybe(NUMBER),
    error=maybe(ref("Fault")),
    note=maybe(TEXT),
)
TRACE = record(
    profile=TEXT,
    version=TEXT,
    verdict=VERDICT,
    **dict.fromkeys(("truncated", "ambiguous", "exhausted"), FLAG),
    flags=FLAGS,
    policy=each(ANYTHING),
    chosen=many(COUNT),
    values=many(ANYTHING),
    attempts=many(ref("Attempt")),
    microseconds=COUNT,
)
CONTRACT = record(
    state=one_of(tuple(STATES)),
    **dict.fromkeys(("tool", "source", "reason"), maybe(TEXT)),
    mismatches=many(
        record(**dict.fromkeys(("path", "keyword", "message", "schema_path"), TEXT), span=maybe(many(COUNT)))
    ),
    more=COUNT,
)
TURN = record(
    {"misfits": many(record(value=COUNT, path=TEXT, message=TEXT, schema=TEXT)), "not_run": TEXT, "unfit": TEXT},
    **dict.fromkeys(("role", "agent", "phase", "model", "recorded_failure", "raw"), maybe(TEXT)),
    **dict.fromkeys(("sounding", "round", "attempt"), maybe({"type": "integer"})),
    kind=one_of(KINDS),
    session=TEXT,
    position=COUNT,
    source=ANYTHING,
    sent_at=maybe(TIME),
    failed=FLAG,
    rescued=FLAG,
    duplicates=many(ANYTHING),
    profile=TEXT,
    trace=maybe(ref("Trace")),
    stop=maybe(record(reason=one_of((*REASONS, "other")), said=TEXT)),
    host=maybe(TEXT),
    tokens=record(**dict.fromkeys(("in", "out", "reasoning", "cap"), maybe(COUNT))),
    arguments=maybe(one_of(("written", "decoded", "free", "provider"))),
    tool=maybe(TEXT),
    contract=maybe(CONTRACT),
    stream=maybe(
        record(chunks=COUNT, read_otherwise=each(record(text=TEXT, calls=many(record(name=TEXT, arguments=TEXT)))))
    ),
)
NEXT_FAILURE = record(url=maybe(TEXT), session=maybe(TEXT), position=maybe(COUNT), reason=maybe(TEXT))
WRITTEN_DUMP = record(success=FLAG, dump_path=TEXT, entry_count=COUNT)
SESSION_DUMP = record(
    session_id=TEXT, dumped_at=TIME, entry_count=COUNT, entries=many(ANYTHING), fencepost=each(ANYTHING)
)

EXAMPLE = record(session=TEXT, session_key=TEXT, position=COUNT)
COVERAGE = record(**dict.fromkeys(("run", "of", "not_run"), maybe(COUNT)))
RATE = record(name=TEXT, count=COUNT, of=maybe(COUNT), **dict.fromkeys(("share", "low", "high"), maybe(SHARE)))


def _counts_by(name: str) -> Schema:
    return many(record(**{name: maybe(TEXT)}, count=COUNT))


GROUP = record(
    **dict.fromkeys(("key", "title"), TEXT),
    **dict.fromkeys(("first_seen", "last_seen", "known_since"), TIME),
    **dict.fromkeys(("count", "sessions", "labelled", "more_models", "more_tools", "more_paths"), COUNT),
    share=maybe(SHARE),
    series=many(COUNT),
    models=_counts_by("model"),
    tools=_counts_by("tool"),
    paths=_counts_by("path"),
    findings=each(COUNT),
    state=one_of(("open", "resolved", "regressed", "ignored")),
    why=maybe(TEXT),
    assignee=maybe(TEXT),
    new=FLAG,
    new_models=many(maybe(TEXT)),
    growth=NUMBER,
    merged=many(TEXT),
    example=maybe(EXAMPLE),
    spent=each(maybe(NUMBER)),
)
GROUP_PAGE = record(
    failures=many(ref("FailureGroup")),
    next=maybe(TEXT),
    **dict.fromkeys(("total", "count", "new"), COUNT),
    responses=COVERAGE,
    range=maybe(many(TIME)),
    window=many(TIME),
)
GROUP_DETAIL = record(
    key=TEXT,
    asked=TEXT,
    title=TEXT,
    group=maybe(ref("FailureGroup")),
    responses=COVERAGE,
    examples=many(joined(EXAMPLE, when=TIME, model=maybe(TEXT), path=maybe(TEXT), tokens=maybe(TEXT))),
    **dict.fromkeys(("models", "versions"), many(ref("Rate"))),
    **dict.fromkeys(("before", "after"), maybe(ref("Rate"))),
    tokens=many(record(tokens=TEXT, count=COUNT)),
    spent=maybe(each(maybe(NUMBER))),
    readers=many(record(profile=TEXT, read=maybe(COUNT), run=COUNT, of=COUNT)),
    merged=many(TEXT),
    history=many({"type": "object"}),
)
SAME_FAILURE = record(
    **dict.fromkeys(("key", "title"), TEXT),
    **dict.fromkeys(("count", "sessions", "here"), COUNT),
    **dict.fromkeys(("since", "last_seen"), TIME),
    **dict.fromkeys(("earlier", "later"), maybe(EXAMPLE)),
)
SIGN_TEST = record(
    **dict.fromkeys(("first", "second", "sessions"), COUNT),
    share=maybe(SHARE),
    p=maybe(SHARE),
    interval=maybe(many(SHARE)),
)
_RUNS = record(profile=TEXT, run=COUNT, of=COUNT, absent=maybe(TEXT), reason=maybe(TEXT))
_CELLS = ("both_same", "both_different", "only_a", "only_b", "undecided", "neither")
_NOT_RUN = ("not_run_a", "not_run_b", "not_run_both")
_LABELLED = record(
    **dict.fromkeys(("right_right", "wrong_wrong", "wrong_right", "right_wrong", "silently_wrong"), COUNT),
    matrix=many(record(a=TEXT, b=TEXT, count=COUNT)),
    compared=COUNT,
    waiting=COUNT,
    sign_test=SIGN_TEST,
)
COMPARISON = record(
    a=TEXT,
    b=TEXT,
    **dict.fromkeys(("of", "compared", "sessions", *_CELLS, *_NOT_RUN), COUNT),
    cut=FLAG,
    a_runs=_RUNS,
    b_runs=_RUNS,
    sign_test=SIGN_TEST,
    labels=maybe(_LABELLED),
)

SCHEMAS: dict[str, Schema] = {
    "Session": SESSION,
    "Under": UNDER,
    "Match": MATCH,
    "Response": RESPONSE,
    "TurnLine": TURN_LINE,
    "Finding": FINDING,
    "Turn": TURN,
    "Trace": TRACE,
    "Attempt": ATTEMPT,
    "Edit": EDIT,
    "Fault": FAULT,
    "SessionDump": SESSION_DUMP,
    "FailureGroup": GROUP,
    "Rate": RATE,
    "Comparison": COMPARISON,
}
