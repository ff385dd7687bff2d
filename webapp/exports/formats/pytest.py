"""A self-contained pytest file: one test a response whose values are known, red where a parser reads others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from webapp import jsontext
from webapp.exports.base import About
from webapp.exports.labelled import Labelled, Said, meant, settlement

HEAD = '''"""Responses that people labelled, as regression tests for a parser of model output.

{about}

    pytest FILE                                        tests Fencepost's profile `fencepost`
    FENCEPOST_PROFILE=windlass-strict pytest FILE      another of its profiles
    FENCEPOST_PARSER=package.module:function pytest FILE
                                                       a parser of yours: takes the text, gives the list of values
"""

import importlib
import json
import os

import pytest


def read(text):
    """The values that the parser under test reads from `text`, in order."""
    name = os.environ.get("FENCEPOST_PARSER")
    if name:
        module, _, function = name.partition(":")
        return list(getattr(importlib.import_module(module), function)(text))
    from webapp.parsing import parse

    return list(parse(text, os.environ.get("FENCEPOST_PROFILE", "fencepost")).values)


def canonical(values):
    """JSON values as text that is the same where the values are: 1 and 1.0 are, 1 and true are not."""
    return [json.dumps(_number(value), sort_keys=True) for value in values]


def _number(value):
    if isinstance(value, dict):
        return {{key: _number(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_number(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


CASES = [
'''
FOOT = """
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_reads_what_was_meant(text, expected):
    assert canonical(read(text)) == canonical(json.loads(expected))
"""


@dataclass(frozen=True)
class Pytest:
    name: str = "pytest"
    takes: Literal["labels"] = "labels"
    suffix: str = ".py"
    media_type: str = "text/x-python"

    def pieces(self, responses: Iterable[Labelled], about: About) -> Iterator[bytes]:
        yield HEAD.format(about=_comment(about.sentence())).encode("ascii")
        for response, said, values in meant(responses):
            yield _case(response, said, jsontext.dumps(values)).encode("ascii")
        yield FOOT.lstrip("\n").encode("ascii")


def _case(response: Labelled, said: Said, expected: str) -> str:
    facts = [f"{response.session} turn {response.position}", f"{said.judgement} by {said.author}, {said.made_at}"]
    facts += [f"cause: {said.cause}"] if said.cause else []
    facts += [f"note: {said.note}"] if said.note else []
    facts += [settlement(response.settled)] if response.settled else []
    facts += [f"history: {jsontext.dumps(list(said.history))}"] if said.history else []
    comments = "".join(f"    # {_comment(fact)}\n" for fact in facts)
    return f"{comments}    pytest.param({response.raw!a}, {expected!a}, id={response.name!a}),\n"


def _comment(text: str) -> str:
    """`text` on one line of ASCII, so that nothing in it can end the comment or the docstring."""
    return ascii(text)[1:-1].replace('"', "'").replace("\\'", "'")


plugin = Pytest()
