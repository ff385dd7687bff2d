"""The child under Python 3.14, which few machines have: CPython as WebAssembly, from npm's package `pyodide`.

It has no threads and no other processes, so the child's parts are called as its `main` calls them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.locked import locked
from webapp.capture.process import CHILD, ParserProcess

PARSERS = Path(__file__).with_name("parsers.py")
NPM = Path(__file__).resolve().parents[2] / ".pytest_cache" / "pyodide"
PACKAGE = "pyodide@314.0.7"
NODE = """
import { loadPyodide } from "pyodide";
const python = await loadPyodide({ env: {} });
for (const folder of ["capture", "parsers"]) {
  python.FS.mkdirTree("/" + folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: process.env["FOLDER_" + folder] }, "/" + folder);
}
python.globals.set("texts", process.env.TEXTS);
console.log(python.runPython(process.env.SCRIPT));
"""
SCRIPT = """
import importlib.util, json, sys

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("child", "/capture/child.py")
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
child.hooks.OWN_FILES.add(child.answer.__code__.co_filename)
child.hooks.install()
parser = child.load("/parsers/parsers.py:fence_then_trim")
answers = [child.plain_values.encoded(child.answer(parser, text)) for text in json.loads(texts)]
json.dumps({"python": sys.version_info[:2], "answers": answers})
"""
TEXTS = ['```json\n{"a": 1}}\n```', "[1, 2", '{"é": NaN}', "plain"]


@pytest.fixture(scope="module")
def python_314() -> Path:
    """A folder in which Node finds Pyodide."""
    if not shutil.which("npm") or not shutil.which("node"):
        assert os.environ.get("CI") != "true", "npm and node are missing under CI"
        pytest.skip("needs npm and node, which bring Python 3.14 as WebAssembly")
    NPM.mkdir(parents=True, exist_ok=True)
    with locked(NPM):
        if not (NPM / "node_modules" / "pyodide").is_dir():
            command = ["npm", "install", "--prefix", str(NPM), "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                assert os.environ.get("CI") != "true", f"npm cannot have {PACKAGE} under CI: {done.stderr[-200:]}"
                pytest.skip(f"npm cannot have {PACKAGE}: {done.stderr.strip()[-200:]}")
    return NPM


def _calls(calls: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Decoder, text, outcome, place of the error and line of each call."""
    return [
        (call["sink"], call["text"], call["ok"], call["error"] and call["error"][-1], call["site"]["line"])
        for call in calls
    ]


def test_values_and_calls_are_those_of_this_python(python_314: Path) -> None:
    (python_314 / "run.mjs").write_text(NODE)
    folders = {"FOLDER_capture": str(CHILD.parent), "FOLDER_parsers": str(PARSERS.parent)}
    environ = os.environ | folders | {"SCRIPT": SCRIPT, "TEXTS": json.dumps(TEXTS)}
    command = ["node", "run.mjs"]
    done = subprocess.run(command, cwd=python_314, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["python"] == [3, 14]
    child = ParserProcess(f"{PARSERS}:fence_then_trim")
    for text, answer in zip(TEXTS, map(json.loads, told["answers"]), strict=True):
        here = child.parse(text)
        mine = [
            (call.sink, call.text, call.ok, call.error and call.error.position, call.site and call.site["line"])
            for call in here.calls
        ]
        assert _calls(answer["calls"]) == mine, text
        assert (answer["ok"], repr(answer.get("value"))) == (here.ok, repr(here.value))
    child.close()
