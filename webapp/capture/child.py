"""Runs one parser and records what it hands to decoders: one file, standard library only, Python 3.9 to 3.14.

    python child.py module:function [--memory BYTES]
    python child.py path/to/file.py:function

It reads one request a line, `{"text": "…"}`, and answers with one line, `{"ok": true, "value": …, "calls": […]}`. The
parser runs in the environment of the interpreter that started this file: nothing of Fencepost is imported here.
Hooks are in place before the parser's module is imported, so that names bound at import time go through them as well.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import importlib
import importlib.abc
import importlib.util
import io
import json
import linecache
import marshal
import os
import re
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

REPEATS = 3  # failing calls of one kind from one line that are kept before the rest of them is only counted
MOST_CALLS = 2_000  # calls kept for one response
MOST_TEXT = 8_000_000  # characters of decoder input kept for one response
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
_JSON = ("json", "raw_decode")
_DECODERS = (os.sep + "json" + os.sep, os.sep + "pydantic", os.sep + "ast.py")
_STANDARD = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_AT_LINE = re.compile(r"at line (\d+) column (\d+)")
_DEEPEST = 500  # levels of a value that are shown


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
        """The calls in the order in which they ended, with their values and sites."""
        with self.lock:
            self.active = False
            for call in self.calls:
                call["site"] = site_of(call["site"])
                if isinstance(call["value"], bytes):
                    call["value"] = marshal.loads(call["value"])  # noqa: S302 — written a moment ago, below
                elif type(call["error"]) is tuple:
                    call["error"] = dict(zip(_FAILURE, call["error"]))  # noqa: B905 — Python 3.9 has no strict
            return self.calls

    def run(self, sink: str, text: str, decode: Callable[[], Any], ended: Callable[[Any], int] | None = None) -> Any:
        """Call `decode`; record `text` with what came of it. `ended` says how much of `text` was read for a result."""
        outer = self.thread.inside
        if not self.active or (outer and (outer in _JSON or outer.partition(".")[0] == sink.partition(".")[0])):
            return decode()
        self.thread.inside = sink
        try:
            result = decode()
        except BaseException as error:
            self.keep(sink, text, False, None, _failure(error, text), _caller(sys._getframe(2)), outer)
            raise
        finally:
            self.thread.inside = outer
        value = snapshot(result[0] if ended else result)
        self.keep(sink, text[: ended(result)] if ended else text, True, value, None, _caller(sys._getframe(2)), outer)
        return result

    def keep(self, sink: str, text: str, ok: bool, value: Any, error: Any, site: Any, inside: str | None) -> None:
        count, calls = 1, self.calls
        with self.lock:
            if not self.active:
                return
            if (
                not ok
                and len(calls) >= REPEATS
                and all(c["site"] == site and not c["ok"] and c["sink"] == sink for c in calls[-REPEATS:])
            ):
                last = calls.pop()
                count += last["count"]
                self.characters -= len(last["text"])
            if len(calls) >= MOST_CALLS or self.characters + len(text) > MOST_TEXT:
                self.dropped += 1
                return
            self.characters += len(text)
            calls.append(
                {
                    "sink": sink,
                    "text": text,
                    "ok": ok,
                    "value": value,
                    "error": error,
                    "site": site,
                    "inside": inside,
                    "count": count,
                }
            )


RECORDER = CallRecorder()


_FAILURE = ("type", "message", "said", "position")


def failure_of(error: BaseException, text: str = "") -> dict[str, Any]:
    """An exception in its own words, with the offset in `text` where it says one."""
    return dict(zip(_FAILURE, _failure(error, text)))  # noqa: B905 — Python 3.9 has no strict


def _failure(error: BaseException, text: str) -> tuple[str, str, str, Any]:
    """Type, message, what it said, position."""
    if type(error) is json.JSONDecodeError:
        return "JSONDecodeError", error.msg, str(error), error.pos
    message = getattr(error, "msg", None)
    wording = _shortened(_words(str, error))
    message = _shortened(message) if isinstance(message, str) else wording
    return type(error).__name__, message, wording, _position(error, wording, text)


def _position(error: BaseException, wording: str, text: str) -> int | None:
    """Where the decoder stopped: as JSON's, YAML's, Python's and Rust's decoders say it."""
    position = getattr(error, "pos", None)
    if not isinstance(position, int):
        position = getattr(getattr(error, "problem_mark", None), "index", None)
    if isinstance(position, int):
        return position
    place = _AT_LINE.search(wording)
    line, column = (int(place[1]), int(place[2])) if place else (0, 0)
    if isinstance(error, SyntaxError) and error.lineno and error.offset:
        line, column = error.lineno, error.offset
        column += len(text) - len(text.lstrip(" \t")) if line == 1 else 0
    if not line or not text:
        return None
    start = sum(map(len, text.splitlines(True)[: line - 1]))
    return min(start + max(0, column - 1), len(text))


def _shortened(text: str) -> str:
    return text if len(text) <= 500 else text[:500] + f" … ({len(text) - 500:,} more characters)"


def _words(of: Callable[[Any], str], value: object) -> str:
    """`str` or `repr` of something that may raise instead."""
    try:
        return of(value)
    except Exception as error:  # noqa: BLE001 — it is somebody's own __repr__
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


_KINDS: dict[Any, str] = {}


def _kind(code: Any) -> str:
    """Whether code is a decoder's own or this file's, a library's, or theirs."""
    path = code.co_filename
    library = "site-packages" in path or "dist-packages" in path or path.startswith(_STANDARD) or path[:1] == "<"
    decoder = path == answer.__code__.co_filename or any(part in path for part in _DECODERS)
    kind = _KINDS[code] = "decoder" if decoder else "library" if library else "theirs"
    return kind


def _caller(frame: Any) -> tuple[Any, ...] | None:
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


def site_of(caller: tuple[Any, ...] | None) -> dict[str, Any] | None:
    return None if caller is None else _site(caller)


@functools.lru_cache(maxsize=1000)
def _site(caller: tuple[Any, ...]) -> dict[str, Any]:
    code, line = caller[:2]
    source = linecache.getline(code.co_filename, line).strip()
    site = {"file": code.co_filename, "line": line, "function": code.co_name, "source": source[:200]}
    site["through"] = f"{'/'.join(Path(caller[2].co_filename).parts[-3:])}:{caller[3]}" if caller[2:] else ""
    return site


def snapshot(value: Any) -> Any:
    """`value` as it is now, since the parser may change it: as bytes where that is quick."""
    try:
        return marshal.dumps(value)
    except ValueError:
        return plain(value)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON can carry it: models and data classes as objects, anything else as `{"$repr": …}`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth > _DEEPEST:
        return {"$repr": "nested too deep"}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    try:
        if hasattr(value, "model_dump"):
            return plain(value.model_dump(), depth + 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
    except Exception:  # noqa: BLE001 — somebody's own serializer; the repr is shown instead
        return {"$repr": _shortened(_words(repr, value))}
    return {"$repr": _shortened(_words(repr, value))}


def _key(key: object) -> str:
    """A key as `json.dumps` writes it, where it is one that JSON knows; else its repr."""
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    return _words(repr, key)


def encoded(message: dict[str, Any]) -> str:
    """One line of JSON; what JSON does not know is shown as what it is."""
    try:
        return json.dumps(message)
    except (TypeError, ValueError, RecursionError):
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 4 * _DEEPEST)
        try:
            return json.dumps(plain(message))
        finally:
            sys.setrecursionlimit(limit)


def as_text(text: object) -> str | None:
    if isinstance(text, str):
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text).decode("utf-8", "surrogatepass" if _is_utf8(text) else "replace")
    return None


def _is_utf8(data: bytes | bytearray | memoryview) -> bool:
    try:
        bytes(data).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def hook_json() -> None:
    """On the class, which stands behind `json.loads` and `json.load`, whoever bound them, and behind every decoder."""
    decode, raw_decode = json.JSONDecoder.decode, json.JSONDecoder.raw_decode

    @functools.wraps(decode)
    def recorded_decode(self: json.JSONDecoder, s: str, *args: Any, **kwargs: Any) -> Any:
        """As `CallRecorder.run`, which is a third slower; most of what is recorded goes through here."""
        thread = RECORDER.thread
        outer = thread.inside
        if not RECORDER.active or outer in _JSON:
            return decode(self, s, *args, **kwargs)
        thread.inside = "json"
        try:
            value = decode(self, s, *args, **kwargs)
        except BaseException as error:
            RECORDER.keep("json", s, False, None, _failure(error, s), _caller(sys._getframe(1)), outer)
            raise
        finally:
            thread.inside = outer
        RECORDER.keep("json", s, True, snapshot(value), None, _caller(sys._getframe(1)), outer)
        return value

    @functools.wraps(raw_decode)
    def recorded_raw_decode(self: json.JSONDecoder, s: str, idx: int = 0) -> Any:
        if RECORDER.thread.inside in _JSON or not RECORDER.active:
            return raw_decode(self, s, idx)
        return RECORDER.run("raw_decode", s[idx:], lambda: raw_decode(self, s, idx), lambda result: result[1] - idx)

    json.JSONDecoder.decode = recorded_decode  # type: ignore[method-assign]
    json.JSONDecoder.raw_decode = recorded_raw_decode  # type: ignore[method-assign]


def hook_module(module: Any) -> None:
    for name in _MODULES[module.__name__]:
        function = getattr(module, name, None)
        if callable(function) and not hasattr(function, "__fencepost__"):
            setattr(module, name, _recorded(f"{module.__name__}.{name}", function))


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
    else:
        hook_module(module)


class _PydanticPlugin:
    """Pydantic decodes JSON in Rust behind an immutable type; its plugin protocol says what goes in and comes out."""

    def new_schema_validator(self, *args: Any, **kwargs: Any) -> tuple[None, _PydanticHandler, None]:
        return None, _PydanticHandler(), None


class _PydanticHandler:
    """A validator may be used by several threads, and within itself."""

    def on_enter(self, input: Any, **kwargs: Any) -> None:  # noqa: A002 — the protocol's own name
        call = (as_text(input), _caller(sys._getframe(1))) if RECORDER.active else (None, None)
        RECORDER.thread.validations.append(call)

    def on_success(self, result: Any) -> None:
        self._ended(True, snapshot(result), None)

    def on_error(self, error: Any) -> None:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        kind, words = first["type"], _shortened(first["msg"])
        position = _position(error, words, RECORDER.thread.validations[-1][0] or "") if kind == "json_invalid" else None
        self._ended(False, None, (kind, words, words, position))

    def on_exception(self, exception: BaseException) -> None:
        self._ended(False, None, _failure(exception, ""))

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


def load(target: str) -> Callable[[str], Any]:
    """The callable that `module:function` or `file.py:function` names; dots after the colon reach into classes."""
    module_name, _, path = target.rpartition(":")
    function: Any = _from_file(module_name) if module_name.endswith(".py") else importlib.import_module(module_name)
    for name in path.split("."):
        function = getattr(function, name)
    if not callable(function):
        raise TypeError(f"{target} is no callable")
    parser: Callable[[str], Any] = function
    return parser


def _from_file(path: str) -> Any:
    spec: Any = importlib.util.spec_from_file_location("fencepost_parser", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loaded_code(target: str, before: set[str]) -> str:
    """A digest of the code that the target's import loaded but for the standard library; of large files, their size.

    The same code gives the same digest wherever it lies. What is imported later, within a call, is not in it.
    """
    digest = hashlib.sha256(target.rpartition(":")[2].encode("utf-8", "surrogatepass"))
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not path or name in before or (path.startswith(_STANDARD) and "site-packages" not in path):
            continue
        try:
            size = Path(path).stat().st_size
            content = Path(path).read_bytes() if size < 1 << 20 else str(size).encode()
        except OSError:
            content = b""
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0" + hashlib.sha256(content).digest())
    return "code-" + digest.hexdigest()[:10]


def end_with_parent() -> None:
    """Ends this process where the one that started it is gone, which a parser in a loop would not notice."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def answer(parser: Callable[[str], Any], text: str) -> dict[str, Any]:
    RECORDER.start(text)
    started = time.perf_counter_ns()
    try:
        outcome = {"ok": True, "value": parser(text)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever the parser raises is the outcome
        outcome = {"ok": False, "error": failure_of(error)}
    microseconds = (time.perf_counter_ns() - started) // 1000
    return {**outcome, "calls": RECORDER.stop(), "dropped": RECORDER.dropped, "microseconds": microseconds}


def limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def private_streams() -> tuple[Any, Any]:
    """The pipes to Fencepost, out of the parser's reach: what it prints is dropped, its input is empty."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdin, sys.stdout = io.TextIOWrapper(io.FileIO(0, closefd=False)), sys.stderr
    return requests, answers


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("target", help="module:function, a callable that takes a text and gives a value or raises")
    options.add_argument("--memory", type=int, default=0, help="address space in bytes that this process may use")
    options.add_argument("--path", action="append", default=[], help="a folder to import from, before all others")
    chosen = options.parse_args()
    requests, answers = private_streams()
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [*chosen.path, *(folder for folder in sys.path if folder != here)]
    if chosen.memory:
        limit_memory(chosen.memory)
    install()
    end_with_parent()

    def send(message: dict[str, Any]) -> None:
        answers.write(encoded(message) + "\n")
        answers.flush()

    before = set(sys.modules)
    try:
        parser = load(chosen.target)
    except BaseException as error:  # noqa: BLE001 — an import may raise anything, and that is the answer
        send({"ready": False, "error": failure_of(error)})
        return
    send({"ready": True, "python": sys.version.split()[0], "version": loaded_code(chosen.target, before)})
    for line in requests:
        send(answer(parser, json.loads(line)["text"]))


if __name__ == "__main__":
    main()
