"""The API's description is whole and true: every address, parameter, status and field of an answer stands in it."""

from __future__ import annotations

import copy
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, request
from flask.testing import FlaskClient
from werkzeug.datastructures import ImmutableMultiDict

from tests.web import pages
from webapp.extensions import db
from webapp.store import tasks
from webapp.store.jobs import worker
from webapp.web.api import openapi
from webapp.web.api.operation import of_view

OTHER = b'{"o": {"t": "text 1"}, "r": "run 1"}\n{"o": {"t": "text 2"}, "r": "run 2"}\n'
LABEL = {"judgement": "wrong", "expects": "one", "expected": [1], "cause": None, "note": "n", "author": "Ada"}
TURN = "/api/session/s/turns/1"


class ReadParameters(ImmutableMultiDict[str, str]):
    """A query that notes which names a view asks for."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None, type: Any = None) -> Any:  # noqa: A002 - as werkzeug calls it
        self.read.add(key)
        return super().get(key, default, type)

    def getlist(self, key: str, type: Any = None) -> list[Any]:  # noqa: A002 - as werkzeug calls it
        self.read.add(key)
        return super().getlist(key, type)

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)

    def to_dict(self, flat: bool = True) -> Any:
        return ReadDict(self.read, super().to_dict(flat))


class ReadDict(dict[str, Any]):
    """The same of a query that a view takes as a dict."""

    def __init__(self, read: set[str], given: dict[str, Any]) -> None:
        super().__init__(given)
        self.read = read

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def __or__(self, other: Any) -> ReadDict:  # type: ignore[override]
        return ReadDict(self.read, super().__or__(other))


def addresses(key: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A call of each operation, and of those that answer in several ways each of them."""
    yield "GET", "/api/openapi.json", {}
    yield "GET", "/api/sessions?q=Do&limit=1", {}
    yield "GET", "/api/sessions?under=langchain&verdict=clean", {}
    yield "GET", "/api/responses?under=langchain", {}
    yield "GET", "/api/responses?failed=1", {}
    yield "GET", "/api/session/s", {}
    yield "GET", "/api/session/s/dump", {}
    yield "POST", "/api/session/s/dump", {}
    yield "GET", "/api/session/s/home", {}
    yield "PUT", "/api/session/s/home", {"json": {"home": "direct"}}
    yield from (("GET", f"/api/sessions/dumps{query}", {}) for query in ("?ids=s", "?failed=1"))
    yield "GET", "/api/next-failure?session=s&position=-1", {}
    yield "GET", "/api/next-failure?session=s&position=1&group=none", {}
    yield from (("GET", path, {}) for path in (TURN, f"{TURN}?profile=fencepost", "/api/session/s/turns/0"))
    yield "GET", f"{TURN}/failure", {}
    yield "PUT", f"{TURN}/label", {"json": LABEL}
    yield "GET", "/api/labels", {}
    yield from (("GET", f"/api/labels/export{query}", {}) for query in ("", "?queue=sample&size=1", "?queue=failed"))
    yield "GET", "/api/labels/export?queue=group&group=x", {}
    yield "GET", "/api/labels/export?queue=view&view=label%3Dwrong", {}
    yield "GET", "/api/session/s/export?format=report", {}
    yield "GET", "/api/compare", {}
    yield "GET", "/api/failures?limit=5", {}
    yield "GET", f"/api/failures/{key}", {}
    yield "GET", "/api/profiles", {}
    yield "POST", "/api/profiles/langchain/runs?failed=1", {}
    yield "GET", "/api/runs/3", {}
    yield "DELETE", "/api/runs/3", {}
    yield "POST", "/api/dumps?filename=again.json", {"data": pages.SESSION}
    yield "POST", "/api/dumps?filename=b.json&background=1", {"data": pages.SESSION.replace(b'"s"', b'"b"')}
    yield "POST", "/api/dumps?filename=c.json", {"data": pages.SESSION.replace(b'"s"', b'"c"')}
    yield "POST", "/api/dumps?filename=d.json&format=recorder", {"data": b"{}"}
    yield "GET", "/api/dumps/2/mapping", {}
    yield "POST", "/api/dumps/2/mapping", {"json": {"mapping": {"raw": "$.o.t"}, "dry_run": True}}
    yield "POST", "/api/dumps/2/mapping", {"json": {"mapping": {"raw": "$.o.t"}}}
    yield from (("POST", f"/api/exports{query}", {}) for query in ("?ids=s", "?failed=1"))
    yield from (("GET", f"/api/exports{query}", {}) for query in ("", "?limit=1&after=9", "/1", "/6"))
    yield from (("GET", "/api/exports/1/file", {"headers": headers}) for headers in ({}, {"Range": "bytes=0-9"}))
    yield from (("DELETE", f"/api/exports/{number}", {}) for number in (1, 6))
    yield "GET", "/api/jobs/4", {}
    yield "DELETE", "/api/jobs/4", {}


Calls = list[tuple[str, Any, set[str]]]


@pytest.fixture
def calls(app: Flask, client: FlaskClient, post: Callable[..., Any]) -> Calls:
    """Endpoint, answer, and the parameters that were read, of a call of each operation."""
    post(pages.SESSION, home="direct")
    assert post(OTHER, filename="own.jsonl").status_code == 415
    key = client.get("/api/failures").json["failures"][0]["key"]
    with app.app_context():
        tasks.make(db.engine, tasks.EXPORT, {"filters": {}})
        worker.work(db.engine, app.config["SETTINGS"])
    app.request_class = type("Reading", (app.request_class,), {"parameter_storage_class": ReadParameters})
    seen: list[tuple[str, set[str]]] = []
    app.after_request_funcs.setdefault(None, []).append(lambda answer: noted(answer, seen))
    answers = [client.open(path, method=method, buffered=True, **more) for method, path, more in addresses(key)]
    return [(endpoint, answer, read) for answer, (endpoint, read) in zip(answers, seen, strict=True)]


def noted(answer: Any, seen: list[tuple[str, set[str]]]) -> Any:
    seen.append((request.endpoint or "", request.args.read))  # type: ignore[attr-defined]
    return answer


@pytest.fixture
def described(client: FlaskClient) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/api/openapi.json").json
    return document


def by_endpoint(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    every = [each for methods in document["paths"].values() for each in methods.values() if isinstance(each, dict)]
    return {each["operationId"]: each for each in every}


def closed(schema: Any) -> Any:
    """A schema whose records have no other fields than those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items()}
    return inner | {"additionalProperties": False} if "required" in inner and "properties" in inner else inner


def test_the_description_is_openapi_3_1_and_says_that_a_server_has_a_token(
    make: Callable[..., Flask], described: dict[str, Any]
) -> None:
    from openapi_spec_validator import validate  # here: it takes seconds, which every worker that collects would pay

    app = make(token="a-token-of-enough-letters", prefix="/tools")
    headers = {"Authorization": "Bearer a-token-of-enough-letters"}
    document = app.test_client().get("/tools/api/openapi.json", headers=headers).json
    validate(document)
    assert document["openapi"] == "3.1.0" and document["servers"] == [{"url": "/tools"}]
    assert all(each["security"] == [{"token": []}] for each in by_endpoint(document).values())
    assert "security" not in json.dumps(described["paths"])


def test_every_address_of_the_api_is_described(app: Flask, described: dict[str, Any]) -> None:
    for rule in openapi.rules(app):
        assert of_view(app.view_functions[rule.endpoint]), f"{rule.rule} is not described"
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        methods = {method.lower() for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}}
        assert methods <= described["paths"][path].keys()
    assert len(described["paths"]) > 20


def test_each_operation_reads_its_parameters_and_answers_as_it_says(calls: Calls, described: dict[str, Any]) -> None:
    import jsonschema  # here, too

    stated, statuses = by_endpoint(described), defaultdict[str, set[str]](set)
    components = closed(copy.deepcopy(described["components"]))
    read: dict[str, set[str]] = defaultdict(set)
    for endpoint, answer, names in calls:
        read[endpoint] |= names
        responses = stated[endpoint]["responses"]
        assert str(answer.status_code) in responses, (endpoint, answer.status_code, answer.text[:300])
        statuses[endpoint].add(str(answer.status_code))
        content = responses[str(answer.status_code)].get("content")
        if content is None:
            continue
        assert answer.mimetype in content, (endpoint, answer.mimetype)
        if answer.mimetype == "application/json" and endpoint != "api_reference.description_api":
            schema = closed(content[answer.mimetype]["schema"]) | {"components": components}
            jsonschema.validate(answer.json, schema, jsonschema.Draft202012Validator)
    for endpoint, each in stated.items():
        successes = {status for status in each["responses"] if status < "300"}
        assert successes <= statuses[endpoint], f"{endpoint}: nothing here is answered by {successes}"
        asked = {parameter["name"] for parameter in each.get("parameters", []) if parameter["in"] == "query"}
        assert read[endpoint] == asked, (endpoint, read[endpoint] ^ asked)


UNMEANT = (
    ("sessions?limit=x", "limit takes a number of 1 or more, not 'x'"),
    ("sessions?limit=0", "limit takes a number of 1 or more, not '0'"),
    ("sessions?failed=true", "failed takes 0, 1, not 'true'"),
    ("responses?verdict=good", "verdict takes clean, extracted, repaired, failed, none, not_run, not 'good'"),
    ("session/s?from=-1", "from takes a number of 0 or more, not '-1'"),
    ("next-failure?session=s&way=up", "way takes next, previous, not 'up'"),
    ("failures?limit=501", "limit takes a number from 1 to 500, not '501'"),
)


def test_a_value_that_cannot_be_meant_is_refused(client: FlaskClient) -> None:
    for path, words in UNMEANT:
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 400 and answer.json["error"]["message"].startswith(words), path


def test_an_empty_value_is_none_and_a_large_limit_is_the_largest(client: FlaskClient) -> None:
    for path in (
        "sessions?limit=&failed=&verdict=&sort=",
        "failures?limit=",
        "sessions?limit=100000",
        "responses?failures=",
    ):
        assert client.get(f"/api/{path}").status_code == 200


def test_every_error_has_the_one_shape(client: FlaskClient) -> None:
    requests = [
        *(("GET", path, {}) for path in ("/api", "/api/none", "/api/session/none", "/api/sessions?after=x")),
        ("DELETE", "/api/sessions", {}),
        ("PUT", "/api/session/none/home", {"data": b"x"}),
        ("POST", "/api/dumps", {"data": b"x", "headers": {"Content-Encoding": "br"}}),
        ("POST", "/api/dumps", {"data": b"\x89PNG"}),
        ("GET", "/api/sessions", {"headers": {"Origin": "http://evil.example"}}),
        ("GET", "/api/sessions", {"headers": {"Host": "evil.example"}}),
    ]
    for method, path, more in requests:
        answer = client.open(path, method=method, **more)
        if path != "/api":
            error = answer.json["error"]
            assert answer.status_code >= 400 and set(error) == {"code", "message", "at"}, path
            assert error["code"] and error["message"] and "\n\n" not in error["code"]


def test_a_method_that_is_not_there_names_those_that_are(client: FlaskClient) -> None:
    assert client.delete("/api/sessions").headers["Allow"] == "GET, HEAD, OPTIONS"


def test_the_page_shows_every_operation_with_all_of_it(client: FlaskClient, described: dict[str, Any]) -> None:
    page = client.get("/help/api-reference").text
    sections = page.split("<section ")
    for path, methods in described["paths"].items():
        for method, each in methods.items():
            if method == "parameters":
                continue
            (section,) = (text for text in sections if f"<code>{method.upper()} {path}</code></a></h2>" in text)
            assert each["summary"].replace("'", "&#39;") in section and "curl" in section
            for parameter in each.get("parameters", []):
                assert f"<code>{parameter['name']}</code>" in section
    for name in described["components"]["schemas"]:
        assert f'id="shape-{name}"' in page
