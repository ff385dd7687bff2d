"""Parameters that several addresses of the API take."""

from __future__ import annotations

from flask import request

from webapp.contracts import STATES
from webapp.store.labels.queues.queue_spec import KINDS, LARGEST_SAMPLE
from webapp.store.sessions.columns import MORE_THAN
from webapp.store.sessions.filters import LABELS, MOST, SORTS
from webapp.store.write.tally import VERDICTS
from webapp.web.api.operation import Parameter
from webapp.web.api.shapes import TEXT, one_of, whole

SWITCH = one_of(("0", "1"))
MOST_ROWS = 500
_DAY = "an ISO 8601 date or time, UTC if it has no time zone"

FILTERS = (
    Parameter("failed", SWITCH, "1: with a failed response"),
    Parameter("rescued", SWITCH, "1: with a failed response that Fencepost can read"),
    Parameter("verdict", one_of(VERDICTS), "with a response of this verdict"),
    Parameter("under", TEXT, "the profile that verdict, strategy and repair speak of; home: each session's own"),
    Parameter("strategy", TEXT, "with a response that this strategy won"),
    Parameter("repair", TEXT, "with a response that needed this repair"),
    Parameter("error", TEXT, "with this kind of error"),
    Parameter("model", TEXT, "with this model"),
    Parameter("host", TEXT, "served by this provider, address or fingerprint"),
    Parameter("agent", TEXT, "with this agent"),
    Parameter("phase", TEXT, "with this phase"),
    Parameter("tool", TEXT, "with a call of this tool"),
    Parameter("home", TEXT, "the session's parser; `unknown` if none is set"),
    Parameter("finding", TEXT, "for which this rule found something"),
    Parameter("label", one_of(LABELS), "labelled, unlabelled, or with this judgement"),
    Parameter("service", TEXT, "what the program calls itself"),
    Parameter("format", TEXT, "of dumps in this format"),
    Parameter("contract", one_of((*STATES, "broken")), "with a response in this state, or any broken one"),
    Parameter("dump", TEXT, "of this dump, by number or sha256"),
    Parameter("since", TEXT, f"from then on: {_DAY}"),
    Parameter("until", TEXT, f"until then: {_DAY}; a day holds that day"),
    *(Parameter(name, whole(0, MOST), f"with more {number.things} than that") for name, number in MORE_THAN.items()),
    Parameter("q", TEXT, "words, phrases in quotation marks, prefix*, -not"),
    Parameter("sort", one_of(SORTS), "the order; a search shows the newest matches first"),
)
"""those of the list, as docs/filters.md has them"""

AFTER = Parameter("after", TEXT, "`next` of the previous page: returns the rows after it")
LIMIT = Parameter("limit", whole(1), f"rows of a page; more than {MOST_ROWS} is {MOST_ROWS}")


def limit_of_request(default: int = 50) -> int:
    """How many rows the address asks for, of those that a page may have."""
    return max(1, min(MOST_ROWS, request.args.get("limit", default, type=int)))


IDS = Parameter("ids", TEXT, "a session's id or key", several=True)
QUEUE = (
    Parameter("queue", one_of(KINDS), "the responses of a queue, as on the page Labels"),
    Parameter("size", whole(0, LARGEST_SAMPLE), "of a sample: how many"),
    Parameter("seed", whole(0, 2**31), "of a sample: what it is drawn by"),
    Parameter("view", TEXT, "of a queue under filters: these, as a query string"),
    Parameter("group", TEXT, "of a failure group's queue: its key"),
)
"""which queue, on pages and in exports"""
REDACTION = (
    Parameter("redact", TEXT, "a regular expression (RE2) whose matches are masked", several=True),
    Parameter("redact_key", TEXT, "keys of JSON whose values are masked, comma-separated", several=True),
    Parameter("redact_secrets", SWITCH, "1: secrets of known shapes are masked"),
    Parameter("show", SWITCH, "1: to look at in the browser, no download"),
)
