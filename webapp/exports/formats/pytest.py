"""A self-contained pytest file: one test a response with expected values; it fails if a parser reads others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp import jsontext
from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse, LabelView, facts, left_out_sentence, meant

OURS = "fencepost"
HEAD, FOOT, _READ, _FOOT = Path(__file__).with_name("pytest_file.txt").read_text("utf-8").split("# ---- parts ----\n")
"""what stands before the cases, behind them, and the same of texts of which no value is known"""
_LEFT_OUT = "Labels without a known value are left out; the last line of this file says how many, and why."


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    yield head("Responses that people labelled", [about.sentence(), _LEFT_OUT], OURS)
    for response, label, values in meant(responses, about.left_out):
        yield case(response, label, values)
    yield FOOT.encode("ascii")
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
    yield FOOT.encode("ascii")
    yield _READ.encode("ascii")
    for response in tests.unlabelled:
        reason = comment(f"{response.session} turn {response.position}: {_UNKNOWN}")
        yield f"    # {reason}\n    pytest.param({response.raw!a}, id={response.called!a}),\n".encode("ascii")
    yield _FOOT.encode("ascii")


plugin = ExportFormat("pytest", "labels", ".py", "text/x-python", pieces)
