"""The parsers of released packages, run from their own files without what they depend on.

A wheel is fetched once into a folder beside pytest's cache. Of a module that imports half a framework only the
function in question is compiled, as it stands, with the few names that it uses.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / ".pytest_cache" / "released"


@cache
def wheel(distribution: str, version: str) -> Path:
    """The folder with the Python files of a release; skipped where no registry answers, failing then under CI."""
    folder = FOLDER / f"{distribution}-{version}"
    if not folder.is_dir():
        partial = FOLDER / f".{distribution}-{version}-{os.getpid()}"
        partial.mkdir(parents=True)
        _fetched(distribution, version, partial)
        for file in partial.glob("*.whl"):
            with zipfile.ZipFile(file) as archive:
                archive.extractall(partial, [name for name in archive.namelist() if name.endswith(".py")])
            file.unlink()
        if not folder.is_dir():
            partial.rename(folder)
    return folder


def _fetched(distribution: str, version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"{distribution}=={version}"], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        not_here(f"{distribution} {version} cannot be had: {done.stderr.strip()[-300:]}")


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
