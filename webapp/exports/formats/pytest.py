"""A self-contained pytest file: one test a response with expected values; it fails if a parser reads others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse, LabelView, facts, left_out_sentence, meant

OURS = "fencepost"
HEAD = '''"""{what}, as regression tests for a parser of model output.

{about}

    pytest FILE                                        tests Fencepost's profile `{profile}`
    FENCEPOST_PROFILE=windlass-strict pytest FILE      another of its profiles
    FENCEPOST_PARSER=package.module:function pytest FILE
                                                       a parser of yours: takes the text, gives the list of values
"""

import importlib
import json
import os

import pytest

MARK = "{mark}"


def read(text):
    """The values that the parser under test reads from `text`, in order."""
    name = os.environ.get("FENCEPOST_PARSER")
    if name:
        module, _, function = name.partition(":")
        return list(getattr(importlib.import_module(module), function)(text))
    from webapp.parsing import parse

    return list(parse(text, os.environ.get("FENCEPOST_PROFILE", "{profile}")).values)


def unmarked(value):
    """What was meant where JSON has no number for it: NaN and the infinities are written as {{MARK: "NaN"}}."""
    if isinstance(value, dict):
        if len(value) == 1 and value.get(MARK) in ("NaN", "Infinity", "-Infinity"):
            return float(value[MARK])
        return {{_plain(key): unmarked(item) for key, item in value.items()}}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def _plain(key):
    """A key that only looked like the mark was given one $ more."""
    return key[1:] if key.endswith(MARK) and key != MARK and not key[: -len(MARK)].strip("$") else key


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
    assert canonical(read(text)) == canonical(unmarked(json.loads(expected)))
"""
_LEFT_OUT = "Labels without a known value are left out; the last line of this file says how many, and why."


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    yield head("Responses that people labelled", [about.sentence(), _LEFT_OUT], OURS)
    for response, label, values in meant(responses, about.left_out):
        yield case(response, label, values)
    yield FOOT.lstrip("\n").encode("ascii")
    yield f"\n\n# {left_out_sentence(about.left_out)}\n".encode("ascii")


def head(title: str, about: Iterable[str], profile: str) -> bytes:
    """All that stands before the cases: `what` they are, lines `about` them, and which `profile` is tested if no other
    is named."""
    lines = "\n".join(map(comment, about))
    return HEAD.format(what=title, about=lines, profile=comment(profile), mark=jsontext.MARK).encode("ascii")


def case(response: LabelledResponse, label: LabelView, values: list[Any]) -> bytes:
    lines = [f"{response.session} turn {response.position}, split {response.split}", *facts(response, label)]
    comments = "".join(f"    # {comment(line)}\n" for line in lines)
    expected = jsontext.portable(values)
    return f"{comments}    pytest.param({response.raw!a}, {expected!a}, id={response.called!a}),\n".encode("ascii")


def comment(text: str) -> str:
    """`text` on one line of ASCII, so that nothing in it can end the comment or the docstring."""
    return ascii(text)[1:-1].replace('"', "'").replace("\\'", "'")


MOST_UNLABELLED = 100
"""responses without a known value that a file has, if no other number is asked for"""
_UNKNOWN = "no expected value"
_READ = """

# These have no expected value: the test is only that a value is read, not which one.
UNLABELLED = [
"""
_FOOT = """
]


@pytest.mark.parametrize("text", UNLABELLED)
def test_reads_a_value(text):
    assert read(text), "no value was read"
"""


@dataclass(frozen=True, slots=True)
class GroupTests:
    """What a group's file has: `labelled` whose values are known, `unlabelled` that must only be read.

    `total` responses are in the group; `unreadable` of those without a known value are left out, since `fencepost`
    reads no value there, or people labelled it as undecidable. All others are left out by the file's size. `label_url`
    and `more_url` are where they are labelled, and the address of a file with more of them.
    """

    labelled: Sequence[LabelledResponse]
    unlabelled: Sequence[LabelledResponse]
    total: int
    unreadable: int
    parser: str
    label_url: str
    more_url: str

    def sentences(self) -> Iterator[str]:
        """How many of how many are in the file, and why the others are not."""
        total = len(self.labelled) + len(self.unlabelled)
        yield f"{total:,} of {self.total:,} responses of the group are in this file:"
        yield f"- {len(self.labelled):,} with an expected value: the parser must read that value;"
        yield f"- {len(self.unlabelled):,} without an expected value: the parser must read any value."
        if self.unreadable:
            yield f"- Not in it: {self.unreadable:,} without an expected value, which fencepost cannot read or"
            yield "  which are labelled as undecidable: label them to include them."
        if rest := self.total - total - self.unreadable:
            yield f"- Not in it: {rest:,} more without an expected value, to keep the file short. With more:"
            yield f"  {self.more_url}"
        if total < self.total or self.unlabelled:
            yield f"- Label them: {self.label_url}"


def of_group(tests: GroupTests, about: ExportFacts) -> Iterator[bytes]:
    """A failure group as a file: what is meant where people said it, else only that a value is read at all."""
    yield head("Responses of one failure group", [about.sentence(), "", *tests.sentences()], tests.parser)
    for response, label, values in meant(tests.labelled, about.left_out):
        yield case(response, label, values)
    yield FOOT.lstrip("\n").encode("ascii")
    yield _READ.encode("ascii")
    for response in tests.unlabelled:
        reason = comment(f"{response.session} turn {response.position}: {_UNKNOWN}")
        yield f"    # {reason}\n    pytest.param({response.raw!a}, id={response.called!a}),\n".encode("ascii")
    yield _FOOT.lstrip("\n").encode("ascii")


plugin = ExportFormat("pytest", "labels", ".py", "text/x-python", pieces)
