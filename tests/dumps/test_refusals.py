"""What no format reads is refused in words, and no command is advised that would read nothing: `refusals.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dumps.conftest import Reader
from tests.parsing import _cases
from webapp.dumps.records import UnknownFormat


@pytest.mark.parametrize("case", _cases.read(Path(__file__).with_name("refusals.md")), ids=lambda case: case.name)
def test_case(case: _cases.Case, got: Reader) -> None:
    with pytest.raises(UnknownFormat) as refused:
        got(case.raw, "notes.txt")
    said = str(refused.value)
    assert [words for words in case.values if words not in said] == []
    assert "unadvised" not in case.done or "fencepost ingest" not in said
    assert "unmapped" not in case.done or "--map" not in said
    assert "silent" not in case.done or not refused.value.speaks


@pytest.mark.parametrize("content", ["\0\0\0", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_text(content: str | bytes, got: Reader) -> None:
    with pytest.raises(UnknownFormat, match="is not JSON"):
        got(content)
