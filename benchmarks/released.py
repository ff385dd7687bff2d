"""Profiles against the releases that they restate, over thousands of texts; and releases that have come since.

    python -m benchmarks.released            # writes webapp/parsing/released.json, which profiles' pages show
    python -m benchmarks.released NAME …     # of these profiles only
    python -m benchmarks.released --newer    # newer releases, on how many texts they differ, and 1 where on more

Needs the registries, Node, and ../shared next to the checkout. It is no test: what it takes depends on the registries.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parsing.profiles import _compiled, _released, _servers, test_released, test_streams
from tests.parsing.profiles._servers import READERS
from tests.parsing.profiles.test_released import AGENTS, IN_NODE, release_of
from webapp.parsing import parse
from webapp.parsing.engine import profile
from webapp.parsing.released import held_releases

SHARED = Path(__file__).resolve().parents[2] / "shared"
WRITTEN = Path(__file__).resolve().parents[1] / "webapp" / "parsing" / "released.json"
LAST = ("cline", "vllm-mistral")
"""of which later releases have no such parser, as their pages say"""
MORE, MOST, PATCHES = 4, 5_000, 2_000
KINDS = {
    (False, True): "the release reads nothing, the profile a value",
    (True, False): "the release reads a value, the profile nothing",
    (True, True): "another value",
}
Outcomes = tuple[list[Any], list[Any]]


def texts() -> list[str]:
    """The shared cases, the forms that arguments take, and mutations of both: the same ones each time."""
    cases = [text for text in test_released.texts(SHARED) if len(text) < 20_000]
    forms = [*test_released.ARGUMENTS, *test_released.DECODED_AGAIN]
    dice, made = random.Random(test_released.SEED), [*cases, *forms]
    for text in [text for text in [*cases[:239], *forms] if 0 < len(text) < 3000] * MORE:
        at = dice.randrange(len(text))
        made.append(text[:at] + dice.choice(("", text[at] * 2, '"', ",", "}", "]", "\n", "'", "\\")) + text[at + 1 :])
        made.append(text[: dice.randrange(len(text))])
    return made


def texts_of(name: str) -> list[str]:
    """What is read by this profile's release."""
    if name in READERS:
        return _servers.responses(name, MOST, test_released.texts(SHARED))
    return list(test_released.written(name, MOST)) if name in AGENTS else texts()


def outcomes(name: str) -> Outcomes:
    """What the release and the profile make of each text."""
    if name == "codex-apply-patch":
        pairs = list(_patches())
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    some = texts_of(name)
    if name in _compiled.TEMPLATES:
        _compiled.program(*release_of(name), compiling=True)
    if name == "crewai":
        made = test_released.crewai(pinned=True)
        release = [test_released.outcome(made, text) for text in some]
    else:
        release = test_released.theirs(name, some)
    return release, [test_released.ours(name, text) for text in some]


def _patches() -> Iterator[tuple[list[str] | None, list[str] | None]]:
    """The files that Codex' own program, of 172 MB, changes by each patch; that it was read where no line was found."""
    program_of = f"@openai/codex@{version('codex-apply-patch')}-linux-x64"
    member = "package/vendor/x86_64-unknown-linux-musl/bin/codex"
    program = _released.packed(program_of, member) / member
    pieces = (test_released.PATCH + "|~|  ~|*** End of File~|  *** Add File: o~|*** End Patch~").replace("~", "\n")
    dice = random.Random(test_released.SEED)
    for _ in range(PATCHES):
        text = "".join(dice.choice(pieces.split("|")) for _ in range(dice.randint(1, 6)))
        text = f"*** Begin Patch\n{text}*** End Patch"
        ours = parse(text, "codex-apply-patch")
        changed = sorted(f"{value['type'][0]} {value.get('move_to', value['path'])}" for value in ours.values)
        refused = any((attempt.reason or "").startswith("invalid patch") for attempt in ours.attempts)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "apply_patch").symlink_to(program)
            for name in ("a", "g"):
                (Path(folder) / name).write_text("j\nk\ni\n\nj\nk\n")
            done = subprocess.run(["./apply_patch", text], cwd=folder, capture_output=True, text=True)
        said = sorted(line.replace("M ", "u ").lower() for line in done.stdout.splitlines()[1:])
        released = None if done.stderr.startswith("Invalid patch") else said or changed
        yield released, None if refused else changed


def names() -> list[str]:
    return sorted([*test_released.HELD, "codex-apply-patch"])


def package(name: str) -> tuple[str, str]:
    """The registry, npm or pip, and the package that a profile restates."""
    if name in IN_NODE or name == "codex-apply-patch":
        return "npm", release_of(name)[0]
    return "pip", READERS[name].server if name in READERS else release_of(name)[0]


def version(name: str) -> str:
    return READERS[name].version if name in READERS else release_of(name)[1]


def newest(name: str) -> str:
    registry, what = package(name)
    if registry == "npm":
        return _said(["npm", "view", what, "version"])
    command = [sys.executable, "-m", "pip", "index", "versions", what]
    said = _said(command) or _said([*command, *test_released.LATER, "--only-binary", ":all:"])
    return said.partition("(")[2].partition(")")[0]


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout.strip()


def day(name: str) -> str:
    """The day on which the release came to its registry."""
    registry, what = package(name)
    if registry == "npm":
        days: dict[str, str] = json.loads(_said(["npm", "view", what, "time", "--json"]))
        return days[version(name)][:10]
    return _released.day(what, version(name))


def measure(chosen: list[str]) -> None:
    found: dict[str, Any] = json.loads(WRITTEN.read_text("utf-8")) if WRITTEN.is_file() else {}
    for name in chosen:
        release, ours = outcomes(name)
        kinds = Counter(
            KINDS[one is not None, other is not None] for one, other in zip(release, ours, strict=True) if one != other
        )
        found[name] = {
            "release": f"{package(name)[1]} {version(name)}",
            "day": day(name),
            "texts": len(release),
            "same": len(release) - kinds.total(),
            "differs": dict(kinds),
        }
        if name in test_streams.STREAMS:
            found[name]["streamed"] = test_streams.measured(name, _servers.responses(name, len(release)))
        print(f"{name:<24}{found[name]}", flush=True)
        WRITTEN.write_text(f"{json.dumps(dict(sorted(found.items())), indent=1)}\n", "utf-8")


def newer(chosen: list[str]) -> bool:
    """Whether a newer release cannot be run as before, or differs on more texts than the one that is held."""
    told = False
    for name in chosen:
        if name in LAST:
            print(f"{name:<24}{version(name):<12}the last release that has this parser", flush=True)
            continue
        before, now = version(name), newest(name)
        if not now or now == before:
            print(f"{name:<24}{before:<12}" + ("newest" if now else "the registry does not say"), flush=True)
            continue
        try:
            release = _released_at(name, now)
        except (Exception, SystemExit, pytest.skip.Exception) as error:  # noqa: BLE001 — what is run may have moved
            told = True
            said = (str(error).splitlines() or [""])[-1][:150]
            print(f"{name:<24}{before:<12}{now}: cannot be run as before: {type(error).__name__} {said}", flush=True)
            continue
        different = sum(one != other for one, other in zip(*release, strict=True))
        told |= different > sum(held_releases()[name].differs.values())
        print(f"{name:<24}{before:<12}{now}: {different:,} of {len(release[0]):,} outcomes differ", flush=True)
    return told


def _released_at(name: str, release: str) -> Outcomes:
    """The outcomes of another release, and those of the profile."""
    if name in READERS:
        return _served_at(name, release)
    test_released.PINNED[name] = release
    try:
        return outcomes(name)
    finally:
        del test_released.PINNED[name]


def _served_at(name: str, release: str) -> Outcomes:
    """As `_released_at`, of a server: all readers of the release that `name` is of are those of the other one."""
    kept, of = dict(READERS), READERS[name]
    READERS.update({key: one._replace(version=release) for key, one in kept.items() if one[:2] == of[:2]})
    try:
        _servers.forget()
        return outcomes(name)
    finally:
        READERS.update(kept)
        _servers.forget()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--newer", action="store_true")
    asked = parser.parse_args()
    for unknown in set(asked.names) - set(names()):
        parser.error(f"{unknown}: {'restates no release' if profile(unknown) else ''}")
    sys.exit((newer if asked.newer else measure)(asked.names or names()))


if __name__ == "__main__":
    main()
