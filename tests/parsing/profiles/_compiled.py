"""llama.cpp's own parser of what models write, compiled from the release's sources without all that runs a model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.locked import locked
from tests.parsing.profiles._released import FOLDER, not_here, ran
from tests.parsing.profiles._servers import Calls, decoded

TEMPLATES = {
    "llama-cpp-qwen3": "Qwen-Qwen3-0.6B",
    "llama-cpp-llama3": "meta-llama-Llama-3.1-8B-Instruct",
}
"""the chat templates, of those that its repository has, whose calls the profiles read"""
FILES = ["common/", "include/", "ggml/include/", "vendor/nlohmann/"]
FILES += [f"models/templates/{name}.jinja" for name in TEMPLATES.values()]
SOURCES = "jinja/value.cpp jinja/[!v]*.cpp chat*.cpp common.cpp json-*.cpp log.cpp peg-parser.cpp trie.cpp unicode.cpp"
SOURCES += " parsers/lfm2.cpp parsers/parsers.cpp"
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object"}}}
    for name in ("f", "g")
]

_SDIST = """
import sys, tarfile
from pip._internal.commands.index import IndexCommand
from pip._vendor.packaging.specifiers import SpecifierSet
name, version, folder, *wanted = sys.argv[1:]
command = IndexCommand("index", "")
options, _ = command.parse_args(["versions", "--no-binary", ":all:", name])
with command._build_session(options) as session:
    finder = command._build_package_finder(options, session)
    link = finder.find_best_candidate(name, SpecifierSet(f"=={version}")).best_candidate.link
    with session.get(link.url, stream=True, headers={"Accept-Encoding": "identity"}) as response:
        with tarfile.open(fileobj=response.raw, mode="r|gz") as archive:
            for member in archive:
                member.name = member.name.partition("/vendor/llama.cpp/")[2]
                if member.name.startswith(tuple(wanted)):
                    archive.extract(member, folder, filter="data")
"""
"""A source distribution is read as it comes, since pip would build what it needs to tell its own name."""


def program(package: str, version: str, *, compiling: bool = False) -> Path:
    """The program of `released.cpp`, made once: under CI, or where asked for by `compiling`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = FOLDER / f"{package}-{version}-compiled"
    with locked(folder):
        if not (folder / "released").is_file():
            if not shutil.which("g++"):
                not_here("needs g++")
            if not compiling and os.environ.get("CI") != "true":
                not_here("takes most of a minute: `python -m benchmarks.released llama-cpp-qwen3` compiles it")
            ran([sys.executable, "-c", _SDIST, package, version, str(folder), *FILES], f"{package} {version}")
            _compile(folder)
    return folder / "released"


def _compile(folder: Path) -> None:
    """All sources as one, which takes half of what each by itself does, but for the one that has names of another's.
    What only a loaded model needs is left unresolved, and never called."""
    flags = ["g++", "-std=c++17", "-O0", "-w", "-Icommon", "-Iinclude", "-Iggml/include", "-Ivendor"]
    sources = [path for pattern in SOURCES.split() for path in sorted((folder / "common").glob(pattern))]
    sources.append(Path(__file__).with_name("released.cpp"))
    (folder / "all.cpp").write_text("".join(f'#include "{path}"\n' for path in sources), "utf-8")
    with ThreadPoolExecutor(2) as pool:
        commands = [[*flags, "-c", source] for source in ("all.cpp", "common/json.cpp")]
        list(pool.map(lambda command: _run(folder, command), commands))
    _run(folder, ["g++", "-static", "-o", "linked", "all.o", "json.o", "-Wl,--unresolved-symbols=ignore-all"])
    (folder / "linked").rename(folder / "released")


def _run(folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def outcomes(name: str, package: str, version: str, cases: list[str]) -> list[str | None]:
    """The calls with their arguments as values, a text where they are none; None for plain text; or a word."""
    return [_outcome(calls) for calls in calls_of(name, package, version, cases)]


def _outcome(calls: Calls | None) -> str | None:
    if calls is None:
        return "refused"
    return json.dumps([[called, decoded(arguments)] for called, arguments in calls]) if calls else None


def calls_of(name: str, package: str, version: str, cases: Sequence[str | list[str]]) -> list[Calls | None]:
    """The calls of each text, or of a stream of pieces; None where the request fails and nothing was given before."""
    made = program(package, version)
    template = (made.parent / "models" / "templates" / f"{TEMPLATES[name]}.jinja").read_text("utf-8")
    request = {"template": template, "messages": [{"role": "user", "content": "x"}], "tools": TOOLS}
    lines = "\n".join(map(json.dumps, [request, *cases]))
    done = subprocess.run([made], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [_calls(json.loads(line)) for line in done.stdout.splitlines()]


def _calls(message: dict[str, Any] | None) -> Calls | None:
    if message is None:
        return None
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return [(call["name"], call["arguments"]) for call in calls]
