"""Links are built as werkzeug's own rules build them, by functions that a start does not compile."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import BuildError, IntegerConverter, Map, MapAdapter, Rule

from tests.web.pages import FILLED
from webapp.web.answers import LateRule

SHAPES: list[tuple[str, dict[str, Any]]] = [
    ("/", {}),
    ("/a b/<name>", {}),
    ("/n/<int:number>/<path:rest>", {}),
    ("/page", {"defaults": {"number": 1}}),
    ("/page/<int:number>", {}),
    ("/first/<int:number>", {"defaults": {"number": 1}}),
    ("/second/<int:number>", {"defaults": {"number": 2}}),
]
VALUES: list[dict[str, Any]] = [
    {},
    {"name": "x/ü"},
    {"number": 7, "rest": "b/c", "rule": "?", "self": "&"},
    {"number": 1},
    {"number": "no number"},
]


def adapter(kind: type[Rule], shape: tuple[str, dict[str, Any]]) -> MapAdapter:
    text, options = shape
    return Map([kind(text, endpoint="e", **options)]).bind("localhost")


def built(kind: type[Rule], shape: tuple[str, dict[str, Any]], values: dict[str, Any], unknown: bool) -> object:
    try:
        return adapter(kind, shape).build("e", values, append_unknown=unknown)
    except (BuildError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("unknown", [True, False])
def test_a_link_is_built_as_the_rule_of_werkzeug_builds_it(shape: tuple[str, dict[str, Any]], unknown: bool) -> None:
    for values in VALUES:
        for _ in range(2):  # the second time by what the first one left
            assert built(LateRule, shape, values, unknown) == built(Rule, shape, values, unknown)


def test_maps_with_other_converters_share_no_link() -> None:
    class Negative(IntegerConverter):
        def to_url(self, value: Any) -> str:
            return f"-{value}"

    plain = Map([LateRule("/n/<int:number>", endpoint="e")])
    negative = Map([LateRule("/n/<int:number>", endpoint="e")], converters={"int": Negative})
    assert plain.bind("localhost").build("e", {"number": 3}) == "/n/3"
    assert negative.bind("localhost").build("e", {"number": 3}) == "/n/-3"


def test_every_address_of_the_app_is_that_of_werkzeugs_rules(app: Flask) -> None:
    values = {key.rpartition(":")[2]: int(value) if value.isdecimal() else value for key, value in FILLED.items()}
    same = Map(converters=app.url_map.converters)
    for rule in app.url_map.iter_rules():
        same.add(Rule(rule.rule, endpoint=rule.endpoint, methods=rule.methods, defaults=rule.defaults))
    ours, theirs = app.url_map.bind("localhost"), same.bind("localhost")
    rules = list(app.url_map.iter_rules())
    assert all(type(rule) is LateRule for rule in rules)
    for rule in rules:
        given = {name: values.get(name, "fencepost") for name in rule.arguments} | {"asked": "é&"}
        assert ours.build(rule.endpoint, given) == theirs.build(rule.endpoint, given)


def test_a_start_compiles_no_rule(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a rule was compiled")

    monkeypatch.setattr(Rule, "_compile_builder", refuse)
    monkeypatch.setattr("webapp.web.answers._shared", {})
    app = make()
    assert app.test_client().get("/healthz").status_code == 200
    with pytest.raises(AssertionError, match="compiled"), app.test_request_context():
        app.url_for("responses.index")
