"""The playground: any text under every profile, in the debugger that a turn's page has."""

from __future__ import annotations

import base64
import io
import json
import secrets
import zlib
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint, Response, current_app, redirect, request, url_for
from werkzeug.exceptions import BadRequest
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.findings import own
from webapp.parsing import parse, profile, readings
from webapp.store.ingest.start import ingest
from webapp.store.sessions import sessions as session_store
from webapp.web import debugger, verdict_column
from webapp.web.answers import page, text_answer, wants_partial
from webapp.web.links import turn_url
from webapp.web.turns import reports

blueprint = Blueprint("playground", __name__)

HOME = "fencepost"
LINKED = 3_000
"""Characters of a packed text up to which it stands in a URL."""
UNPACKED = 200_000
"""Code points that a URL's text may unpack to."""
EXAMPLES = {
    "too many closing braces": 'I run it.\n\n```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```\n',
    "several defects at once": "{'name': 'Ada', \"tags\": [1, 2,], // two\n active: True }",
    "prose around a value": 'Here is the plan: {"steps": ["read", "write"]} and then I am done.',
    "a set that is not JSON": "A set is written {1, 2}, and a dict {a: b}.",
    "cut off in a string": '{"title": "Report", "body": "It was a dark and',
}


def pack(text: str) -> str | None:
    """The text as it stands in a URL: deflated, base64url without padding; None where that is too long."""
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode("ascii")
    return packed.rstrip("=") if len(packed) <= LINKED and len(text) <= UNPACKED else None


def unpack(packed: str) -> str:
    """What `pack` gave; raises `BadRequest` for anything else, without unpacking more than is allowed."""
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        machine = zlib.decompressobj()
        text = machine.decompress(data, 4 * UNPACKED)
        if not machine.eof:
            raise BadRequest("The text in this link is cut off or too long.")
        return text.decode("utf-8", "surrogatepass")
    except (zlib.error, ValueError) as error:
        raise BadRequest("The text in this link cannot be read: some of it was lost.") from error


@blueprint.get("/playground")
def index() -> Response:
    return answer(unpack(request.args.get("t", "")) if request.args.get("t") else "")


@blueprint.post("/playground")
def read() -> Response:
    text = posted()
    response = answer(text)
    if wants_partial() and "step" not in request.args:
        response.headers["HX-Replace-Url"] = address(text, pack(text) if text else None)
    return response


def posted() -> str:
    """The form's text with line feeds as the page had them: HTML forms send each as CR LF."""
    return request.form.get("text", "").replace("\r\n", "\n")


def answer(text: str, status: int = 200, message: str | None = None) -> Response:
    """The page, or for htmx the debugger alone."""
    packed = pack(text) if text else None
    return page(
        "playground/show.html",
        "turns/_debugger.html",
        status,
        text=text,
        debugger=debugger_state(text, packed) if text else None,
        texts=texts(packed),
        examples={} if text else {name: (text, address(text, pack(text))) for name, text in EXAMPLES.items()},
        message=message,
        own_findings=own_findings(text),
    )


def own_findings(text: str) -> list[tuple[own.OwnFinding, own.PatternMatch | None]]:
    """Each finding of one's own with where it stands in the text under the profile that is looked at."""
    if not text or not own.configured():
        return []
    trace = parse(text, debugger.from_args(request.values).profile or HOME)
    return [(entry, entry.match(text, trace)) for entry in own.configured().values()]


def debugger_state(text: str, packed: str | None) -> debugger.DebuggerState:
    """The debugger's state for `text`. Raises `UnknownProfile`."""
    query = debugger.from_args(request.values)
    current = query.profile or HOME
    profile(current)
    names = verdict_column.names_to_run(HOME, current, len(text))
    traces = dict(zip(names, map(readings(text), names), strict=True))
    return replace(debugger.state(text, traces, HOME, query, partial(address, text, packed)), posts=packed is None)


def address(text: str, packed: str | None, **query: Any) -> str:
    """The URL of a state; that of a text too long for it is for the form that holds the text."""
    if packed is None:
        return url_for("playground.read", **(query | ({"step": 1} if text and query else {})))
    return url_for("playground.index", t=packed, **query)


def texts(packed: str | None) -> dict[str, str]:
    if packed is None:
        return {}
    at: dict[str, Any] = {"t": packed, "profile": debugger.from_args(request.values).profile}
    names = {"markdown": "playground.markdown", "case": "playground.case", "raw": "playground.raw"}
    return {name: url_for(endpoint, **at) for name, endpoint in names.items()}


@blueprint.get("/playground/raw")
def raw() -> Response:
    """The linked text, or with `?r=120-180` those characters of it."""
    text = unpack(request.args.get("t", ""))
    span = debugger.from_args(request.args).marked(text)
    return text_answer(text if span is None else span.of(text))


@blueprint.get("/playground/markdown")
def markdown() -> Response:
    text = unpack(request.args.get("t", ""))
    trace = parse(text, debugger.from_args(request.args).profile or HOME)
    names = verdict_column.order(HOME) if len(text) <= verdict_column.EVERY_LENGTH else []
    traces = dict(zip(names, map(readings(text), names), strict=True))
    return text_answer(reports.markdown(text, trace, [("page", "the playground")], traces))


@blueprint.get("/playground/case")
def case() -> Response:
    text = unpack(request.args.get("t", ""))
    return text_answer(reports.case(text, parse(text, HOME)))


@blueprint.post("/playground/session")
def save() -> AnyResponse:
    """Keep the text as a session of one response, and show it."""
    text = posted()
    if not text:
        return answer("", 422, "There is no text to save.")
    title = request.form.get("title", "").strip()[:200] or "from the playground"
    ingested = ingest(db.engine, current_app.config["SETTINGS"], document(text, title), filename="playground.json")
    return redirect(turn_url(session_store.find(db.session, ingested.keys[0]), 0))


def document(text: str, title: str) -> io.BytesIO:
    """A dump that holds `text` as one response; its id is new each time, so that one text can be saved twice."""
    messages = [{"role": "assistant", "content": text}]
    dump = {"id": f"playground-{secrets.token_hex(5)}", "title": title, "messages": messages}
    return io.BytesIO(json.dumps(dump).encode("ascii"))
