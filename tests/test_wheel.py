"""A wheel, installed into an empty virtual environment in an empty folder, serves the same pages."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.gate.test_workflow import steps, write_project
from tests.locked import common_folder, locked
from webapp import __version__

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel built from this tree in `dist` and, in `venv`, installed with its pinned dependencies."""
    folder = common_folder(tmp_path_factory) / "wheel"
    with locked(folder):
        if not (folder / "venv/bin/fencepost").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
    return folder


def install(folder: Path) -> None:
    """What the wheel requires, and no more, is copied from this environment, which pip filled under the same pins."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", cwd=ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    (packages,) = (folder / "venv").glob("lib/*/site-packages")
    metadata = zipfile.Path(wheel, f"{wheel.name.partition('-py3')[0]}.dist-info/")
    for distribution in required(PathDistribution(metadata), {"server"}):
        copy(distribution, packages)
    copy(importlib.metadata.distribution("pip"), packages)
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    run(*pip, "--disable-pip-version-check", wheel, cwd=folder)


def required(
    distribution: importlib.metadata.Distribution, extras: set[str]
) -> Iterator[importlib.metadata.Distribution]:
    """All that a distribution with these extras requires, and what that requires."""
    for requirement in map(Requirement, distribution.requires or ()):
        wanted = [requirement.marker.evaluate({"extra": extra}) for extra in (extras or {""}) if requirement.marker]
        if any(wanted) or not requirement.marker:
            found = importlib.metadata.distribution(requirement.name)
            assert requirement.specifier.contains(found.version, prereleases=True), requirement
            yield found
            yield from required(found, requirement.extras)


def copy(distribution: Distribution, packages: Path) -> None:
    """Its files and what is compiled of them, which holds for a source of the same time."""
    for file in distribution.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts and not (packages / file).exists():
            source, folder = Path(str(distribution.locate_file(file))), (packages / file).parent
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder)
            if (compiled := Path(cache_from_source(source))).exists():
                (folder / "__pycache__").mkdir(exist_ok=True)
                shutil.copy2(compiled, folder / "__pycache__")


@pytest.fixture
def program(installed: Path) -> Path:
    """The `fencepost` program of the wheel, which others use too."""
    return installed / "venv/bin/fencepost"


@pytest.fixture
def program_alone(installed: Path, tmp_path: Path) -> Path:
    """The same in a copy of its environment, where it may be removed and installed again."""
    venv, copy = installed / "venv", tmp_path / "venv"
    shutil.copytree(venv, copy, symlinks=True, copy_function=os.link)
    for script in copy.glob("bin/*"):
        if not script.is_symlink():
            text, mode = script.read_bytes(), script.stat().st_mode
            script.unlink()
            script.write_bytes(text.replace(os.fsencode(venv), os.fsencode(copy)))
            script.chmod(mode)
    return copy / "bin/fencepost"


@pytest.fixture
def served(program: Path, tmp_path: Path) -> Iterator[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("FENCEPOST_", "PYTHONPATH"))}
    environ |= {"XDG_DATA_HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [program, "serve", "--port", "0"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    found = re.search(r"http://\S+?:\d+", process.stdout.readline())
    assert found
    yield found.group()
    process.terminate()
    process.wait(60)
    process.stdout.close()


def read(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


def test_the_wheel_serves_pages_static_files_and_examples(served: str, tmp_path: Path) -> None:
    page = read(served)
    assert "ui_run_764686752e2f" in page
    for asset in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert read(served + asset)
    assert "run_code" in read(f"{served}/sessions/ui_run_764686752e2f")
    assert (tmp_path / "home/fencepost/fencepost.sqlite3").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_the_sbom_names_all_that_the_wheel_brings_along(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "fencepost.cdx.json"
    run(sys.executable, ROOT / ".ci/sbom.py", file, program.with_name("python"), cwd=tmp_path)
    sbom = json.loads(file.read_text())
    assert (sbom["bomFormat"], sbom["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    versions = {each["name"].lower(): each["version"] for each in sbom["components"]}
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().lower().split() if "==" in line)
    assert {"flask", "sqlalchemy", "waitress"} <= versions.keys() and "pytest" not in versions
    assert {name: version for name, version in versions.items() if pins.get(name) not in (version, None)} == {}
    licensed = [each["name"] for each in sbom["components"] if each.get("licenses")]
    assert len(licensed) > 20 and str(ROOT) not in json.dumps(sbom)


def test_the_program_parses_without_a_server(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([program, "parse", "--json"], input='{"a": 1}', cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and '"clean"' in done.stdout


def test_the_core_alone_scans_and_says_what_a_server_needs(installed: Path, tmp_path: Path) -> None:
    (wheel,) = installed.glob("dist/*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "core", cwd=tmp_path)
    python = tmp_path / "core/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    run(*pip, "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    assert not [*tmp_path.glob("core/lib/*/site-packages/sqlalchemy"), *tmp_path.glob("core/lib/*/site-packages/flask")]
    scan = [python.with_name("fencepost"), "scan", "--json", ROOT / "examples"]
    done = subprocess.run(scan, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["looked"]["sessions"] >= len([*(ROOT / "examples").glob("*.json*")])
    for asked, told in (("--help", "FENCEPOST_DATA"), ("formats", "claude_code")):
        done = subprocess.run([scan[0], asked], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and told in done.stdout, done.stderr
    serve = [python.with_name("fencepost"), "serve", "--port", "0"]
    refused = subprocess.run(serve, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "needs the libraries of the server" in refused.stderr


def test_the_wheel_has_the_public_module(program: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from fencepost import parse, capture, Recorder; import json\n"
        "with capture('[1]') as seen: json.loads('[1]')\n"
        "assert seen.trace.values == ([1],) == parse('[1]').values and 'flask' not in sys.modules"
    )
    run(program.with_name("python"), "-c", code, cwd=tmp_path)


def test_the_wheel_has_the_pytest_plugin_and_an_isolated_worker_for_it(program: Path, tmp_path: Path) -> None:
    """In a folder with a package `webapp`, as the plugin is used: theirs is not ours."""
    (tmp_path / "webapp.py").write_text("raise SystemExit('theirs')")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "{}", "expected": [{}]}\n')
    code = (
        "from importlib.metadata import entry_points\n"
        "assert entry_points(group='pytest11')['fencepost'].value == 'fencepost_pytest'"
    )
    python = program.with_name("python")
    run(python, "-c", code, cwd=tmp_path)
    asked = '{"profile": "fencepost", "file": "cases.jsonl"}\n{"id": "a"}\n'
    command = [python, "-I", "-m", "webapp.gate.worker"]
    done = subprocess.run(command, input=asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert '"outcome": "right"' in done.stdout


def test_the_workflow_of_the_page_on_ci_installs_the_wheel_and_runs(
    installed: Path, program_alone: Path, tmp_path: Path
) -> None:
    """Its first lines as they stand, once `fencepost` is taken away; `tests/gate` runs all without a wheel."""
    program, folder, python = program_alone, program_alone.parent, program_alone.with_name("python")
    (wheel,) = installed.glob("dist/*.whl")
    write_project(project := tmp_path / "project")
    shutil.copy(wheel, project)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "fencepost", cwd=tmp_path)
    assert not program.exists()
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    pins = str(ROOT / "constraints.txt")
    environ = os.environ | {"PATH": path, "PIP_CONSTRAINT": pins, "XDG_DATA_HOME": str(tmp_path)}
    install, check, _ = steps()
    for line, code in ((install, 0), (check, 1)):
        done = subprocess.run(["sh", "-c", line], cwd=project, env=environ, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
    assert "baseline created" in done.stdout and program.exists()


def test_an_editable_install_has_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hatchling.build import build_editable

    monkeypatch.chdir(ROOT)
    name = build_editable(str(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        paths = [wheel.read(file).decode().split() for file in wheel.namelist() if file.endswith(".pth")]
        files = wheel.namelist()
    assert [str(ROOT)] in paths or "fencepost.py" in files
