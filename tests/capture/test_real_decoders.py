"""The libraries themselves under the hooks, none of them a stand-in: what goes in, what comes out, where it stopped."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.capture.made import process
from webapp.capture.process import ParserProcess

USER = """
import importlib

def parse(request):
    module, name, text = request.split(" ", 2)
    decode = getattr(importlib.import_module(module), name)
    return decode(text.encode() if module == "jiter" else text)
"""
SOUND, BROKEN, WRITTEN = '{"a": [1, 2]}', '{"a": [1 2]}', '{"a": [1, 2]}'
REFUSALS: dict[tuple[str, str], tuple[str, int | None]] = {
    ("orjson", "loads"): ("JSONDecodeError", 9),
    ("ujson", "loads"): ("JSONDecodeError", None),
    ("json5", "loads"): ("ValueError", 9),
    ("jiter", "from_json"): ("ValueError", 9),
    ("partial_json_parser", "loads"): ("JSONDecodeError", 9),
    ("pydantic_core", "from_json"): ("ValueError", 9),
    ("ast", "literal_eval"): ("SyntaxError", 7),
}
"""of `BROKEN`: the type, and where it stopped, which ujson does not say and Python says of the whole list"""
READINGS: dict[tuple[str, str], Any] = {
    ("json_repair", "loads"): {"a": [1, 2]},
    ("json_repair", "repair_json"): WRITTEN,
    ("partial_json_parser", "ensure_json"): BROKEN,
    ("yaml", "safe_load"): {"a": ["1 2"]},
}
"""what the others make of `BROKEN`"""


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ParserProcess]:
    folder = tmp_path_factory.mktemp("real")
    (folder / "user.py").write_text(USER)
    child = process("user:parse", folder=folder)
    yield child
    child.close()


@pytest.mark.parametrize(("module", "name"), [*REFUSALS, *READINGS])
def test_a_library_itself_is_recorded(child: ParserProcess, module: str, name: str) -> None:
    if importlib.util.find_spec(module) is None:
        assert os.environ.get("CI") != "true", f"{module} is one of the test extra"
        pytest.skip(f"{module} is not installed")
    sink = f"{module}.{name}"
    call = child.parse(f"{module} {name} {SOUND}").calls[-1]
    value = WRITTEN if name in ("repair_json", "ensure_json") else {"a": [1, 2]}
    assert (call.sink, call.text, call.ok, call.value, call.inside) == (sink, SOUND, True, value, None)
    call = child.parse(f"{module} {name} {BROKEN}").calls[-1]
    assert (call.sink, call.text) == (sink, BROKEN)
    if (module, name) in READINGS:
        assert (call.ok, call.value) == (True, READINGS[module, name])
    else:
        assert call.error is not None
        assert (call.ok, call.error.type, call.error.position) == (False, *REFUSALS[module, name])
