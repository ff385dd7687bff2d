"""The parsers of released packages, run from their own files without what they depend on.

A wheel is fetched once into a folder beside pytest's cache. Of a module that imports half a framework only the
function in question is compiled, as it stands, with the few names that it uses.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import types
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).resolve().parents[3] / ".pytest_cache" / "released"


@cache
def wheel(distribution: str, version: str, *options: str) -> Path:
    """The folder with a release's modules, also compiled ones; skipped where no registry answers, failing under CI.

    `options` are pip's, as for a release that only a later Python can run.
    """
    if said := fetch([(distribution, version)], *options):
        not_here(f"{distribution} {version} cannot be had: {said}")
    return FOLDER / f"{distribution}-{version}"


def fetch(releases: Iterable[tuple[str, str]], *options: str) -> str:
    """Put the releases that are not there into their folders, by pip started once; what it says where it cannot."""
    missing = {canonicalize_name(name): (name, version) for name, version in releases if not _there(name, version)}
    if not missing:
        return ""
    with TemporaryDirectory(prefix=".wheels-", dir=FOLDER) as partial:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *options]
        command += ["--dest", partial, *(f"{name}=={version}" for name, version in missing.values())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()[-300:]
        for file in Path(partial).glob("*.whl"):
            name, version = missing[canonicalize_name(file.name.partition("-")[0])]
            with zipfile.ZipFile(file) as archive:
                kept = [member for member in archive.namelist() if member.endswith((".py", ".so", ".pem"))]
                archive.extractall(unpacked := file.with_suffix(""), kept)
            if not _there(name, version):
                unpacked.rename(FOLDER / f"{name}-{version}")
    return ""


def _there(name: str, version: str) -> bool:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return (FOLDER / f"{name}-{version}").is_dir()


def not_here(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (under CI it must)")
    pytest.skip(reason)


def functions(path: Path, *names: str, inside: str | None = None, **names_used: Any) -> list[Callable[..., Any]]:
    """Functions of a module, or methods of its class `inside`, compiled alone with the names that they use."""
    body = ast.parse(path.read_text("utf-8")).body
    if inside:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == inside).body
    chosen = [node for node in body if isinstance(node, ast.FunctionDef) and node.name in names]
    chosen.sort(key=lambda node: names.index(node.name))
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    space: dict[str, Any] = {"json": json, "re": re, "ast": ast, **names_used}
    tree = ast.fix_missing_locations(ast.Module([future, *chosen], []))
    exec(compile(tree, str(path), "exec"), space)
    return [space[name] for name in names]


def module(path: Path, **stand_ins: dict[str, Any]) -> types.ModuleType:
    """A whole module, run with stand-ins for modules that it imports (`__` in a name stands for a dot)."""
    modules = {name.replace("__", "."): types.ModuleType(name) for name in stand_ins}
    for name, names in stand_ins.items():
        modules[name.replace("__", ".")].__dict__.update(names)
    for name in list(modules):
        parents = name.split(".")[:-1]
        for depth in range(1, len(parents) + 1):
            modules.setdefault(".".join(parents[:depth]), types.ModuleType("package"))
    made = types.ModuleType(f"released_{path.stem}")
    with pytest.MonkeyPatch.context() as patch:
        for name, stand_in in modules.items():
            patch.setitem(sys.modules, name, stand_in)
        exec(compile(path.read_text("utf-8"), str(path), "exec"), made.__dict__)
    return made


def imported(folder: Path, name: str) -> types.ModuleType:
    """A package out of a folder, where another release of it is installed, which stays what others import."""
    with pytest.MonkeyPatch.context() as patch:
        for other in [other for other in sys.modules if other.partition(".")[0] == name]:
            patch.delitem(sys.modules, other)
        patch.syspath_prepend(folder)
        made = importlib.import_module(name)
        for other in [other for other in sys.modules if other.partition(".")[0] == name]:
            patch.delitem(sys.modules, other)
    return made


_DAY = """
import sys
from pip._internal.commands.index import IndexCommand
name, version = sys.argv[1:]
command = IndexCommand("index", "")
options, _ = command.parse_args(["versions", name])
with command._build_session(options) as session:
    finder = command._build_package_finder(options, session, ignore_requires_python=True)
    found = finder.find_all_candidates(name)
times = [one.link.upload_time for one in found if str(one.version) == version]
print(min(filter(None, times)).date())
"""


@cache
def day(distribution: str, version: str) -> str:
    """The day on which a release came to its registry."""
    command = [sys.executable, "-c", _DAY, distribution, version]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


@cache
def packages(what: str) -> Path:
    """A folder in which npm installed a package, such as `ai@6.0.326`, for Node to import."""
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    return _of_npm(what, what.replace("/", "+"), ["npm", "install", *flags, "--prefix", "{folder}", what])


@cache
def packed(what: str, *only: str) -> Path:
    """A folder with a package alone, or some of its files, of which one function is run without all else."""
    command = ["npm", "pack", "--silent", "--pack-destination", "{folder}", what]
    return _of_npm(what, f"{what.replace('/', '+')}-packed", command, only)


def _of_npm(what: str, name: str, command: list[str], only: Sequence[str] = ()) -> Path:
    folder = FOLDER / name
    if not shutil.which("npm") or not shutil.which("node"):
        not_here("needs Node and npm")
    if not folder.is_dir():
        partial = FOLDER / f".{name}-{os.getpid()}"
        partial.mkdir(parents=True)
        ran([part.format(folder=partial) for part in command], what)
        for file in partial.glob("*.tgz"):
            with tarfile.open(file) as archive:
                chosen = [archive.getmember(member) for member in only] if only else None
                archive.extractall(partial, chosen, filter="data")
            file.unlink()
        if not folder.is_dir():
            partial.rename(folder)
    return folder


_MEMBERS = """
import sys, zipfile
from pip._internal.commands.index import IndexCommand
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._vendor.packaging.specifiers import SpecifierSet
name, version, folder, *names = sys.argv[1:]
command = IndexCommand("index", "")
options, _ = command.parse_args(["versions", "--only-binary", ":all:", name])
with command._build_session(options) as session:
    finder = command._build_package_finder(options, session)
    link = finder.find_best_candidate(name, SpecifierSet(f"=={version}")).best_candidate.link
    with LazyZipOverHTTP(link.url, session, chunk_size=65536) as file, zipfile.ZipFile(file) as archive:
        for member in names:
            archive.extract(member, folder)
"""
"""pip reads the list of a wheel's members by ranges of bytes, and so can single members be had."""


@cache
def members(distribution: str, version: str, *names: str) -> Path:
    """The folder with some files of a release whose wheel is too large to fetch: less than a megabyte is."""
    folder = FOLDER / f"{distribution}-{version}-members"
    if not all((folder / name).is_file() for name in names):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", _MEMBERS, distribution, version, str(folder), *names]
        ran(command, f"{distribution} {version}")
    return folder


def ran(command: list[str], what: str) -> None:
    """Run what fetches a release; skipped where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        not_here(f"{what} cannot be had: no answer in five minutes")
    if done.returncode:
        not_here(f"{what} cannot be had: {done.stderr.strip()[-300:]}")


def in_pieces(pieces: Sequence[str], most: int, seed: int) -> Iterator[str]:
    """Texts of a model that writes pieces in their order and leaves some out, or as they come."""
    dice = random.Random(seed)
    for number in range(most):
        if number % 2:
            yield "".join(piece for piece in pieces[dice.randint(0, 3) :] if dice.random() < 0.85)
        else:
            yield "".join(dice.choice(pieces) for _ in range(dice.randint(1, len(pieces))))
