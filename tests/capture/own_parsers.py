"""Parsers as people write them, one of each kind, for `test_own_parsers.py`: they know nothing of Fencepost."""

import ast
import dataclasses
import datetime as dt
import decimal
import json
import re


def lenient_library(text):
    from json_repair import repair_json

    return repair_json(text, return_objects=True)


def python_literal(text):
    return ast.literal_eval(text)


def json5_library(text):
    import json5

    return json5.loads(text)


def yaml_library(text):
    import yaml

    return yaml.safe_load(text)


def control_characters_allowed(text):
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r"[{\[]", text):
        try:
            return decoder.raw_decode(text, match.start())[0]
        except ValueError:
            continue
    raise ValueError("no JSON in the response")


def gives_an_empty_object(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def gives_a_constant(text):
    try:
        return json.loads(text)
    except ValueError:
        return json.loads('{"tool": "none", "arguments": {}}')


def gives_the_error(text):
    try:
        return True, json.loads(text), None
    except ValueError as error:
        return False, None, error


class ParseResult:
    def __init__(self, ok, data):
        self.ok, self.data = ok, data


def gives_an_object(text):
    return ParseResult(True, json.loads(text))


def gives_an_object_within(text):
    return {"ok": True, "results": [ParseResult(True, json.loads(text))]}


@dataclasses.dataclass
class Dated:
    a: int
    when: dt.date
    tags: set


def with_other_types(text):
    return Dated(json.loads(text)["a"], dt.date(2026, 11, 25), {"b", "c", "a"})


def with_exact_numbers(text):
    return json.loads(text, parse_float=decimal.Decimal)


async def waits(text):
    return json.loads(text)


@dataclasses.dataclass
class Plan:
    a: int = 0
    steps: int = 3


def with_defaults(text):
    return Plan(**json.loads(text))


def wrapped(text):
    return {"ok": True, "data": json.loads(text)}


def takes_a_part(text):
    return json.loads(text)["arguments"]


def is_no_value(text):
    return {"a", "b"}


def searches(text):
    return json.loads(re.search(r"```json(.*?)```", text, re.S).group(1))
