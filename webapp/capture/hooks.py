"""Hooks in decoders, and the calls that they record of the response that is parsed now, each with its site.

Standard library only, Python 3.9 to 3.14. The child imports this file under a name of its own, beside packages that may
be called like ours: hence `from .`.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import json
import linecache
import marshal
import os
import sys
import threading
from pathlib import Path
from typing import Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

from .loaded_code import STANDARD_FOLDERS
from .plain_values import as_text, failure_of, position_of, shortened, snapshot

REPEATS = 3  # failing calls of one kind from one line that are kept before the rest of them is only counted
MOST_CALLS = 2_000  # calls kept for one response
MOST_TEXT = 8_000_000  # characters of decoder input kept for one response
JSON_SINKS = ("json", "raw_decode")
_DECODERS = (os.sep + "json" + os.sep, os.sep + "pydantic", os.sep + "ast.py")


class _Thread(threading.local):
    inside: str | None = None  # the decoder that runs now in this thread

    def __init__(self) -> None:
        self.validations: list[tuple[str | None, Any]] = []  # pydantic's that run now, the innermost last


class CallRecorder:
    """The decoder calls of the response that is being parsed; all threads of the process write to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread = _Thread()
        self.start("")
        self.active = False

    def start(self, raw: str) -> None:
        self.raw = raw
        self.calls: list[dict[str, Any]] = []
        self.characters = self.dropped = 0
        self.active = True

    def stop(self) -> list[dict[str, Any]]:
        """The calls in the order in which they ended, with values and sites."""
        with self.lock:
            self.active = False
            for call in self.calls:
                if call["site"] is not None:
                    call["site"] = site_of(call["site"])
                if type(call["value"]) is bytes:
                    call["value"] = marshal.loads(call["value"])  # noqa: S302 — written a moment ago, below
            return self.calls

    def run(self, sink: str, text: str, decode: Callable[[], Any], ended: Callable[[Any], int] | None = None) -> Any:
        """Call `decode`; record `text` with what came of it. `ended` says how much of `text` was read for a result."""
        outer = self.thread.inside
        if not self.active or (outer and (outer in JSON_SINKS or outer.partition(".")[0] == sink.partition(".")[0])):
            return decode()
        self.thread.inside = sink
        try:
            result = decode()
        except BaseException as error:
            self.keep(sink, text, False, None, failure_of(error, text), caller_of(sys._getframe(2)), outer)
            raise
        finally:
            self.thread.inside = outer
        value = snapshot(result[0] if ended else result)
        self.keep(sink, text[: ended(result)] if ended else text, True, value, None, caller_of(sys._getframe(2)), outer)
        return result

    def keep(self, sink: str, text: str, ok: bool, value: Any, error: Any, site: Any, inside: str | None) -> None:
        count, calls = 1, self.calls
        with self.lock:
            if not self.active:
                return
            before = [] if ok or len(calls) < REPEATS else calls[-REPEATS:]
            if before and all(c["site"] == site and not c["ok"] and c["sink"] == sink for c in before):
                last = calls.pop()
                count += last["count"]
                self.characters -= len(last["text"])
            if len(calls) >= MOST_CALLS or self.characters + len(text) > MOST_TEXT:
                self.dropped += 1
                return
            self.characters += len(text)
            call = {"sink": sink, "text": text, "ok": ok, "value": value, "error": error, "site": site}
            calls.append({**call, "inside": inside, "count": count})


RECORDER = CallRecorder()


OWN_FILES = {function.__code__.co_filename for function in (CallRecorder.run, snapshot)}
"""files whose frames are no caller's"""

_KINDS: dict[Any, str] = {}


def _kind(code: Any) -> str:
    """Whether code is a decoder's own or this file's, a library's, or theirs."""
    path = code.co_filename
    library = "site-packages" in path or "dist-packages" in path or path.startswith(STANDARD_FOLDERS) or path[:1] == "<"
    decoder = path in OWN_FILES or any(part in path for part in _DECODERS)
    kind = _KINDS[code] = "decoder" if decoder else "library" if library else "theirs"
    return kind


def caller_of(frame: Any) -> tuple[Any, ...] | None:
    """The line that called the decoder: theirs where one is, else a library's; code and line, then the library's."""
    inner = None
    while frame is not None:
        code = frame.f_code
        kind = _KINDS.get(code) or _kind(code)
        if kind == "theirs":
            return (code, frame.f_lineno, *inner) if inner else (code, frame.f_lineno)
        if inner is None and kind == "library":
            inner = (code, frame.f_lineno)
        frame = frame.f_back
    return inner


@functools.lru_cache(maxsize=1000)
def site_of(caller: tuple[Any, ...]) -> dict[str, Any]:
    code, line = caller[:2]
    source = linecache.getline(code.co_filename, line).strip()
    site = {"file": code.co_filename, "line": line, "function": code.co_name, "source": source[:200]}
    site["through"] = f"{'/'.join(Path(caller[2].co_filename).parts[-3:])}:{caller[3]}" if caller[2:] else ""
    return site


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
        self._ended(False, None, {"type": kind, "message": words, "said": words, "position": position})

    def on_exception(self, exception: BaseException) -> None:
        self._ended(False, None, failure_of(exception))

    def _ended(self, ok: bool, value: Any, error: Any) -> None:
        text, site = RECORDER.thread.validations.pop()
        if text is not None:
            RECORDER.keep("pydantic.validate_json", text, ok, value, error, site, RECORDER.thread.inside)


def install() -> None:
    """Put the hooks in place, once in a process: before the parser is imported, so that its names are hooked ones."""
    if hasattr(json.JSONDecoder.decode, "__wrapped__"):
        return
    hook_json()
    for name in (*_MODULES, _PYDANTIC):
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, _Hooks())
