"""`webapp/saved_state.py`: a state comes back as it was, and bytes that name anything else are refused."""

from __future__ import annotations

import pickle
from array import array
from datetime import UTC, datetime
from typing import Any

import pytest

from webapp.dumps.records import Problem, Turn
from webapp.parsing.span import Span
from webapp.saved_state import NotSaved, restored, saved
from webapp.store.write.tally import Tally


@pytest.mark.parametrize(
    "value",
    [
        {"turn": Turn(3, "response", raw="\ud800{"), "span": Span(1, 2), "problem": Problem("line 1", "why")},
        [Tally(), array("i", [1, -1]), bytearray(b"x"), {1, 2}, datetime(2026, 11, 23, tzinfo=UTC)],
    ],
)
def test_a_state_comes_back(value: Any) -> None:
    assert restored(saved(value)) == value


class Names:
    """Pickles as a call of what a module holds under a name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def bytes(self) -> bytes:
        module, name = (part.encode() for part in (self.module, self.name))
        words = b"".join(b"\x8c" + bytes([len(word)]) + word for word in (module, name))
        return b"\x80\x04" + words + b"\x93\x8c\x04echo\x85R."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("subprocess", "Popen"),
        ("webapp.dumps.reading", "opened"),
        ("webapp.store.write.writing", "sa.create_engine"),
        ("webapp.store.write.writing", "ids.hashlib.sha256"),
        ("webapp.findings.own", "Path"),
        ("webapp.config", "Settings"),
        ("pickle", "loads"),
    ],
)
def test_nothing_else_can_be_named(module: str, name: str) -> None:
    with pytest.raises(NotSaved, match="is no class of a state"):
        restored(Names(module, name).bytes())


def test_the_bytes_of_that_test_would_call_what_they_name() -> None:
    assert pickle.loads(Names("builtins", "list").bytes()) == list("echo")


@pytest.mark.parametrize("data", [b"", b"x", saved([1, 2])[:-3], saved(Tally())[:-9], b"\x80\x05."])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(NotSaved):
        restored(data)


def test_what_cannot_be_saved_is_refused() -> None:
    with pytest.raises(NotSaved):
        saved(lambda: None)
