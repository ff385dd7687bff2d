"""Finds the plugins of a folder, modules with `plugin = …` or a family as `plugins = (…)`; and names of defects."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any


@cache
def collect(package: str) -> dict[str, Any]:
    """Import every module of `package` and return its plugins by name, in the order of their files.

    The name is what databases, URLs and commands know a plugin by. Two plugins of one name are an error in the code, so
    they raise `ValueError`.
    """
    plugins: dict[str, Any] = {}
    for module in _modules(package):
        for plugin in _of(module):
            if plugin.name in plugins:
                raise ValueError(f"two plugins of {package} are called {plugin.name!r}")
            plugins[plugin.name] = plugin
    return plugins


def _of(module: Any) -> tuple[Any, ...]:
    return getattr(module, "plugins", None) or ((module.plugin,) if hasattr(module, "plugin") else ())


def find(package: str, name: str, configured: Callable[[], Mapping[str, Any]] | None = None) -> Any:
    """The plugin called `name`, or None; where a module is called as its plugin, no other one is imported.

    Those that are `configured` from outside are asked for next, before all modules are.
    """
    if (plugin := _of_its_module(package, name)) is not None:
        return plugin
    mine = configured() if configured else {}
    return mine[name] if name in mine else collect(package).get(name)


@cache
def _of_its_module(package: str, name: str) -> Any:
    """The plugin whose module is called as it is, or None."""
    module = name.replace("-", "_")
    if module not in _names(package):
        return None
    plugin = getattr(importlib.import_module(f"{package}.{module}"), "plugin", None)
    return plugin if plugin is not None and plugin.name == name else None


@cache
def help_of(package: str) -> dict[str, str]:
    """The `help` of each plugin by its name, else the first docstring line of its module."""
    return {
        plugin.name: getattr(plugin, "help", "") or (module.__doc__ or "").strip().partition("\n")[0]
        for module in _modules(package)
        for plugin in _of(module)
    }


def _modules(package: str) -> list[Any]:
    return [importlib.import_module(f"{package}.{name}") for name in _names(package)]


@cache
def _names(package: str) -> list[str]:
    folder = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(folder.__path__))
    return [name for name in names if not name.startswith("_")]


_NAMES = {
    "control_character": "raw control character",
    "extra_closer": "extra closing bracket",
    "literal": "Python literal",
    "mismatched_closer": "closing bracket of the wrong kind",
    "mismatched_opener": "opening bracket of the wrong kind",
    "missing_closer": "missing closing bracket",
    "missing_opener": "missing opening bracket",
}


def defect(repair: str) -> str:
    """`extra closing bracket` of `extra_closer`, also where a group's key writes it `extra closer`."""
    return _NAMES.get(repair.replace(" ", "_"), repair.replace("_", " "))
