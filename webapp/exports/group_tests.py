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
_UNKNOWN = "expected value unknown, nobody has said it"
_READ = """

# Of these nobody has said what was meant. The test is only that a value is read at all, never which one.
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
    reads no value there or people say that nobody can tell. All others are left out by the file's size. `label_url` and
    `more_url` are where they are labelled, and the address of a file with more of them.
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
        there = len(self.labelled) + len(self.unlabelled)
        yield f"{there:,} of {self.total:,} responses of the group are in this file:"
        yield f"- {len(self.labelled):,} whose value people have said: the parser must read that value;"
        yield f"- {len(self.unlabelled):,} without a known value: the parser must read some value, whichever."
        if self.unreadable:
            yield f"- Not in it: {self.unreadable:,} without a known value, from which fencepost reads nothing or of"
            yield "  which people say that nobody can tell: whether to read them is unknown until a label says so."
        if rest := self.total - there - self.unreadable:
            yield f"- Not in it: {rest:,} more without a known value, so that the file stays short. A file with more:"
            yield f"  {self.more_url}"
        if there < self.total or self.unlabelled:
            yield f"- Label them: {self.label_url}"


def pieces(tests: GroupTests, about: ExportFacts) -> Iterator[bytes]:
    """The file, piece by piece."""
    yield pytest.head("Responses of one failure group", [about.sentence(), "", *tests.sentences()], tests.parser)
    for response, label, values in meant(tests.labelled, about.left_out):
        yield pytest.case(response, label, values)
    yield pytest.FOOT.lstrip("\n").encode("ascii")
    yield _READ.encode("ascii")
    for response in tests.unlabelled:
        said = pytest.comment(f"{response.session} turn {response.position}: {_UNKNOWN}")
        yield f"    # {said}\n    pytest.param({response.raw!a}, id={response.name!a}),\n".encode("ascii")
    yield _FOOT.lstrip("\n").encode("ascii")
