"""The child in other people's environments: other interpreters, packages called like ours, decoders that we lack."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.capture.made import process
from tests.locked import locked
from webapp.capture.process import CHILD, NotStarted

CHILD_MODULES = ("child", "hooks", "plain_values", "loaded_code")
VERSIONS = range(9, 15)
THEIRS = """
import json, theirs_alone

def parse(text):
    return {"by": theirs_alone.NAME, "value": json.loads(text)}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another virtual environment, with a package that is called `webapp` and one that it needs."""
    folder = tmp_path_factory.mktemp("theirs")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "webapp").mkdir()
    (site / "webapp" / "__init__.py").touch()
    (site / "webapp" / "parsers.py").write_text(THEIRS)
    (site / "theirs_alone.py").write_text("NAME = 'theirs'\n")
    return folder


def test_a_second_environment_with_a_package_called_webapp(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # where it leads to this tree, that comes before theirs
    python = environment / "bin" / "python"
    with_flask = subprocess.run([python, "-c", "import flask"], capture_output=True)
    assert with_flask.returncode, "the second environment has none of our packages"
    child = process("webapp.parsers:parse", str(python), tmp_path)
    outcome = child.parse("[1]")
    child.close()
    assert outcome.value == {"by": "theirs", "value": [1]}
    assert [call.text for call in outcome.calls] == ["[1]"]


@pytest.mark.parametrize("module", CHILD_MODULES)
def test_it_is_written_for_python_3_9_and_needs_the_standard_library_alone(module: str) -> None:
    tree = ast.parse(CHILD.with_name(f"{module}.py").read_text("utf-8"), feature_version=(3, 9))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names, beside = set[str](), set[str]()
    for node in imports:
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif node.level:
            beside |= {node.module} if node.module else {each.name for each in node.names}
        else:
            names.add(node.module or "")
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == set()
    assert beside <= set(CHILD_MODULES)


@pytest.mark.parametrize("minor", VERSIONS)
def test_it_runs_under_each_python(minor: int, tmp_path: Path) -> None:
    folders = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin"))
    python = shutil.which(f"python3.{minor}", path=os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} on this machine")
    parsers = Path(__file__).with_name("parsers.py")
    child = process(f"{parsers}:fence_then_trim", python, tmp_path)
    outcome = child.parse('```json\n{"a": 1}}\n```')
    child.close()
    assert (outcome.value, [call.ok for call in outcome.calls]) == ({"a": 1}, [False, True])


MODELS = """
import json
from pydantic import BaseModel, TypeAdapter

class Plan(BaseModel):
    steps: list[int]

def parse(text):
    try:
        return Plan.model_validate_json(text)
    except ValueError:
        return TypeAdapter(object).validate_json(text)
"""


def test_pydantic_is_seen_through_its_plugins(tmp_path: Path) -> None:
    pytest.importorskip("pydantic")
    (tmp_path / "models.py").write_text(MODELS)
    child = process("models:parse", folder=tmp_path)
    fits, misfit, broken = child.parse('{"steps": [1]}'), child.parse('{"steps": 1}'), child.parse('{"steps": [1,}')
    child.close()
    assert fits.value == {"steps": [1]} and [call.sink for call in fits.calls] == ["pydantic.validate_json"]
    assert [(call.ok, call.error and call.error.type) for call in misfit.calls] == [(False, "list_type"), (True, None)]
    first = broken.calls[0].error
    assert first is not None and (first.type, first.position) == ("json_invalid", 13)


def test_a_value_that_the_parser_changes_later_is_shown_as_it_was_decoded(tmp_path: Path) -> None:
    (tmp_path / "changing.py").write_text(
        "import json\n\ndef parse(text):\n    value = json.loads(text)\n    value.clear()\n    return value\n"
    )
    child = process("changing:parse", folder=tmp_path)
    outcome = child.parse('{"a": 1}')
    child.close()
    assert (outcome.value, outcome.calls[0].value) == ({}, {"a": 1})


LATE = "def parse(text):\n    import inner\n    import theirs\n\n    return inner.VALUE, text\n"


def test_the_version_follows_what_decides_the_value(tmp_path: Path) -> None:
    """The file, what it imports within a call, releases of libraries, and files named beside; nothing else."""
    site = tmp_path / "lib" / "site-packages"
    (site / "theirs-1.dist-info").mkdir(parents=True)
    (site / "theirs.py").touch()
    (site / "theirs-1.dist-info" / "RECORD").write_text("theirs.py,,\n")
    release, mine, inner = site / "theirs-1.dist-info" / "METADATA", tmp_path / "plan.py", tmp_path / "inner.py"
    prompt = tmp_path / "prompts" / "plan.txt"
    prompt.parent.mkdir()
    start = f"import sys\n\nsys.path.append({str(site)!r})\n"

    def version(file: Path, text: str, target: str = "plan.py:parse", depends: tuple[str, ...] = ("prompts",)) -> str:
        file.write_text(text)
        child = process(target, folder=tmp_path, seconds=60 if depends else 0.2, depends=depends)
        try:
            return child.version()
        finally:
            child.close()

    release.write_text("Name: theirs\nVersion: 1\n")
    inner.write_text("VALUE = 1\n")
    mine.write_text(start + LATE)
    versions = [version(prompt, "one")]
    assert version(tmp_path / "unused.py", "VALUE = 2\n") == versions[0]
    versions.append(version(prompt, "two"))
    versions.append(version(inner, "VALUE = 20\n"))
    versions.append(version(release, "Name: theirs\nVersion: 1.0.1\n"))
    versions.append(version(mine, start + LATE + "\n\ndef other(text):\n    return text\n"))
    versions.append(version(prompt, "two", "plan.py:other"))
    assert len(set(versions)) == 6, versions
    versions.append(version(mine, "def parse(text):\n    while True:\n        pass\n", depends=()))
    versions.append(version(mine, "def parse(text):\n    while 1:\n        pass\n", depends=()))
    assert len(set(versions)) == 8, versions
    with pytest.raises(NotStarted, match=r"--depends names no\.txt, which is not in"):
        version(mine, LATE, depends=("no.txt",))


def test_several_threads_of_ours_wait_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import json\n\ndef parse(text):\n    return json.loads(text)\n")
    child = process("mine:parse", folder=tmp_path)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(child.parse, map(str, range(8))))
    child.close()
    assert [outcome.value for outcome in outcomes] == list(range(8))


def test_a_deep_value_comes_back_or_is_said_to_be_too_deep(tmp_path: Path) -> None:
    loop = "    for _ in range(int(text)):\n        value = [value]\n"
    (tmp_path / "mine.py").write_text(f"def parse(text):\n    value = set()\n{loop}    return value\n")
    child = process("mine:parse", folder=tmp_path)
    outcome = child.parse("3000")
    child.close()
    assert outcome.ok and "nested too deep" in json.dumps(outcome.value)


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
        (call["sink"], call["text"], call["ok"], call["error"] and call["error"]["position"], call["site"]["line"])
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
    child = process(f"{PARSERS}:fence_then_trim")
    for text, answer in zip(TEXTS, map(json.loads, told["answers"]), strict=True):
        here = child.parse(text)
        mine = [
            (call.sink, call.text, call.ok, call.error and call.error.position, call.site and call.site["line"])
            for call in here.calls
        ]
        assert _calls(answer["calls"]) == mine, text
        assert (answer["ok"], repr(answer.get("value"))) == (here.ok, repr(here.value))
    child.close()
