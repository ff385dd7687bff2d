"""Hooks in decoders, which record what a parser hands to them; standard library only, Python 3.9 to 3.14.

The child imports this file under a name of its own, beside packages that may be called like ours: hence `from .`.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import json
import sys
from typing import Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

from .call_recorder import JSON_SINKS, OWN_FILES, RECORDER, caller_of
from .plain_values import as_text, failure_parts, position_of, shortened, snapshot

_MODULES = {  # module: the functions that take a text and give a value (or a repaired text)
    "ast": ("literal_eval",),
    "yaml": ("safe_load", "load", "full_load", "unsafe_load"),
    "orjson": ("loads",),
    "ujson": ("loads",),
    "rapidjson": ("loads",),
    "simplejson": ("loads",),
    "json5": ("loads",),
    "demjson3": ("decode",),
    "dirtyjson": ("loads",),
    "jiter": ("from_json",),
    "pydantic_core": ("from_json",),
    "json_repair": ("loads", "repair_json"),
    "fast_json_repair": ("loads", "repair_json"),
    "partial_json_parser": ("loads", "ensure_json"),
    "toml": ("loads",),
    "tomllib": ("loads",),
}
_PYDANTIC = "pydantic.plugin._loader"


def hook_json() -> None:
    """On the class, which stands behind `json.loads` and `json.load`, whoever bound them, and behind every decoder."""
    decode, raw_decode = json.JSONDecoder.decode, json.JSONDecoder.raw_decode

    @functools.wraps(decode)
    def recorded_decode(self: json.JSONDecoder, s: str, *args: Any, **kwargs: Any) -> Any:
        if not RECORDER.active:
            return decode(self, s, *args, **kwargs)
        return RECORDER.run("json", s, lambda: decode(self, s, *args, **kwargs))

    @functools.wraps(raw_decode)
    def recorded_raw_decode(self: json.JSONDecoder, s: str, idx: int = 0) -> Any:
        if RECORDER.thread.inside in JSON_SINKS or not RECORDER.active:
            return raw_decode(self, s, idx)
        return RECORDER.run("raw_decode", s[idx:], lambda: raw_decode(self, s, idx), lambda result: result[1] - idx)

    json.JSONDecoder.decode = recorded_decode  # type: ignore[method-assign]
    json.JSONDecoder.raw_decode = recorded_raw_decode  # type: ignore[method-assign]


def _recorded(sink: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        text = as_text(args[0]) if args else None
        if text is None:
            return function(*args, **kwargs)
        return RECORDER.run(sink, text, lambda: function(*args, **kwargs))

    recorded.__fencepost__ = True  # type: ignore[attr-defined]
    return recorded


class _Hooks(importlib.abc.MetaPathFinder):
    """Hooks a known module as soon as it has been imported, so that none is imported only to be hooked."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname not in _MODULES and fullname != _PYDANTIC:
            return None
        sys.meta_path.remove(self)
        try:
            spec: Any = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.loader.exec_module(module)
        hook(module)


def hook(module: Any) -> None:
    if module.__name__ == _PYDANTIC:
        load = module.get_plugins
        module.get_plugins = lambda: [*load(), _PydanticPlugin()]
        return
    for name in _MODULES[module.__name__]:
        function = getattr(module, name, None)
        if callable(function) and not hasattr(function, "__fencepost__"):
            setattr(module, name, _recorded(f"{module.__name__}.{name}", function))


class _PydanticPlugin:
    """Pydantic decodes JSON in Rust behind an immutable type; its plugin protocol says what goes in and comes out.

    The plugin is every validator's handler as well: one may be used by several threads, and within itself.
    """

    def new_schema_validator(self, *args: Any, **kwargs: Any) -> tuple[None, _PydanticPlugin, None]:
        return None, self, None

    def on_enter(self, input: Any, **kwargs: Any) -> None:  # noqa: A002 — the protocol's own name
        call = (as_text(input), caller_of(sys._getframe(1))) if RECORDER.active else (None, None)
        RECORDER.thread.validations.append(call)

    def on_success(self, result: Any) -> None:
        self._ended(True, snapshot(result), None)

    def on_error(self, error: Any) -> None:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        kind, words = first["type"], shortened(first["msg"])
        text = RECORDER.thread.validations[-1][0] or ""
        position = position_of(error, words, text) if kind == "json_invalid" else None
        self._ended(False, None, (kind, words, words, position))

    def on_exception(self, exception: BaseException) -> None:
        self._ended(False, None, failure_parts(exception, ""))

    def _ended(self, ok: bool, value: Any, error: Any) -> None:
        text, site = RECORDER.thread.validations.pop()
        if text is not None:
            RECORDER.keep("pydantic.validate_json", text, ok, value, error, site, RECORDER.thread.inside)


def install() -> None:
    """Put the hooks in place, once in a process: before the parser is imported, so that its names are hooked ones."""
    if hasattr(json.JSONDecoder.decode, "__wrapped__"):
        return
    OWN_FILES.add(install.__code__.co_filename)
    hook_json()
    for name in (*_MODULES, _PYDANTIC):
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, _Hooks())
