"""Failure groups and comparisons as the API writes them."""

from __future__ import annotations

from webapp.web.api.shapes import (
    COUNT,
    FLAG,
    NUMBER,
    SHARE,
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

EXAMPLE = record(session=TEXT, session_key=TEXT, position=COUNT)
COVERAGE = record(**dict.fromkeys(("run", "of", "not_run"), maybe(COUNT)))
RATE = record(name=TEXT, count=COUNT, of=maybe(COUNT), **dict.fromkeys(("share", "low", "high"), maybe(SHARE)))


def _counted(name: str) -> Schema:
    return many(record(**{name: maybe(TEXT)}, count=COUNT))


GROUP = record(
    **dict.fromkeys(("key", "title", "algorithm"), TEXT),
    **dict.fromkeys(("first_seen", "last_seen", "known_since"), TIME),
    **dict.fromkeys(("count", "sessions", "labelled", "more_models", "more_tools", "more_paths"), COUNT),
    share=maybe(SHARE),
    series=many(COUNT),
    models=_counted("model"),
    tools=_counted("tool"),
    paths=_counted("path"),
    findings=each(COUNT),
    state=one_of(("open", "resolved", "regressed", "ignored")),
    why=maybe(TEXT),
    assignee=maybe(TEXT),
    new=FLAG,
    new_models=many(maybe(TEXT)),
    growth=NUMBER,
    merged=many(TEXT),
    example=maybe(EXAMPLE),
)
GROUP_PAGE = record(
    failures=many(ref("FailureGroup")),
    next=maybe(TEXT),
    **dict.fromkeys(("total", "count", "new", "former"), COUNT),
    responses=COVERAGE,
    range=maybe(many(TIME)),
    window=many(TIME),
)
_CHANGE = record(
    **dict.fromkeys(("kind", "group", "target", "author", "reason"), TEXT),
    **dict.fromkeys(("field", "value", "undone_by", "undone_reason"), maybe(TEXT)),
    id=COUNT,
    made_at=TIME,
    undone_at=maybe(TIME),
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
    readers=many(record(profile=TEXT, read=maybe(COUNT), run=COUNT, of=COUNT)),
    changes=many(_CHANGE),
    history=many({"type": "object"}),
    former=many(record(key=TEXT, count=COUNT)),
)
SAME_FAILURE = record(
    **dict.fromkeys(("key", "title"), TEXT),
    **dict.fromkeys(("count", "sessions", "here"), COUNT),
    **dict.fromkeys(("since", "last_seen"), TIME),
    **dict.fromkeys(("earlier", "later"), maybe(EXAMPLE)),
)
SIGN_TEST = record(first=COUNT, second=COUNT, share=maybe(SHARE), p=maybe(SHARE), interval=maybe(many(SHARE)))
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
    **dict.fromkeys(("of", "compared", *_CELLS, *_NOT_RUN), COUNT),
    cut=FLAG,
    a_runs=_RUNS,
    b_runs=_RUNS,
    sign_test=SIGN_TEST,
    labels=maybe(_LABELLED),
)

SCHEMAS: dict[str, Schema] = {"FailureGroup": GROUP, "Rate": RATE, "Comparison": COMPARISON}
