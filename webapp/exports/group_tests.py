"""A failure group as a pytest file: what is meant where people said it, else only that a value is read at all.

The file says how many of how many responses it has, and why the others are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webapp.exports.base import ExportFacts
from webapp.exports.formats import pytest
from webapp.exports.labelled import LabelledResponse, meant

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


def pieces(tests: GroupTests, about: ExportFacts) -> Iterator[bytes]:
    yield pytest.head("Responses of one failure group", [about.sentence(), "", *tests.sentences()], tests.parser)
    for response, label, values in meant(tests.labelled, about.left_out):
        yield pytest.case(response, label, values)
    yield pytest.FOOT.lstrip("\n").encode("ascii")
    yield _READ.encode("ascii")
    for response in tests.unlabelled:
        reason = pytest.comment(f"{response.session} turn {response.position}: {_UNKNOWN}")
        yield f"    # {reason}\n    pytest.param({response.raw!a}, id={response.called!a}),\n".encode("ascii")
    yield _FOOT.lstrip("\n").encode("ascii")
