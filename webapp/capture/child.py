"""Runs one parser and records what it hands to decoders: standard library only, Python 3.9 to 3.14.

    python child.py module:function
    python child.py path/to/file.py:function

It reads one request a line, `{"text": "…"}`, and answers with one line, `{"ok": true, "value": …, "calls": […]}`; where
the request has `"code"`, with `"code"` beside it, the digests of the code that is loaded by then. The
parser runs in the environment of the interpreter that started this file: of Fencepost only three
modules beside this file are imported, under a name of their own, since a parser's package may be called `webapp` too.
Hooks are in place before the parser's module is imported, so that names bound at import time go through them as well.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.util
import io
import json
import os
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

if TYPE_CHECKING:
    from . import hooks, loaded_code, plain_values
else:
    _beside = ModuleType("_fencepost_capture")
    _beside.__path__ = [str(Path(__file__).parent)]
    sys.modules[_beside.__name__] = _beside
    hooks, loaded_code, plain_values = (
        importlib.import_module(f"{_beside.__name__}.{name}") for name in ("hooks", "loaded_code", "plain_values")
    )


def load(target: str) -> Callable[[str], Any]:
    """The callable that `module:function` or `file.py:function` names; dots after the colon reach into classes."""
    module_name, _, path = target.rpartition(":")
    function: Any = _from_file(module_name) if module_name.endswith(".py") else importlib.import_module(module_name)
    for name in path.split("."):
        function = getattr(function, name)
    if not callable(function):
        raise TypeError(f"{target} is not callable")
    parser: Callable[[str], Any] = function
    return parser


def _from_file(path: str) -> Any:
    """A file as a module, which its own folder's modules can be imported beside, as where Python runs the file."""
    sys.path.insert(1, str(Path(path).resolve().parent))
    spec: Any = importlib.util.spec_from_file_location(loaded_code.FILE_MODULE, path)
    module = sys.modules[loaded_code.FILE_MODULE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def end_with_parent() -> None:
    """Ends this process where the one that started it is gone, which a parser in a loop would not notice."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def answer(parser: Callable[[str], Any], text: str, part: str = "") -> dict[str, Any]:
    recorder = hooks.RECORDER
    recorder.start(text)
    started = time.perf_counter_ns()
    try:
        outcome = plain_values.as_outcome(parser(text), part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever the parser raises is the outcome
        outcome = {"ok": False, "error": plain_values.failure_of(error)}
    microseconds = (time.perf_counter_ns() - started) // 1000
    return {**outcome, "calls": recorder.stop(), "dropped": recorder.dropped, "microseconds": microseconds}


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
    options.add_argument("--value", default="", help="the part of what it gives that is the value, as a dotted path")
    options.add_argument("--path", action="append", default=[], help="a folder to import from, before all others")
    chosen = options.parse_args()
    requests, answers = private_streams()
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [*chosen.path, *(folder for folder in sys.path if folder != here)]
    hooks.OWN_FILES.add(answer.__code__.co_filename)
    hooks.install()
    end_with_parent()

    def send(message: dict[str, Any]) -> None:
        answers.write(plain_values.encoded(message) + "\n")
        answers.flush()

    try:
        parser = load(chosen.target)
    except BaseException as error:  # noqa: BLE001 — an import may raise anything, and that is the answer
        send({"ready": False, "error": plain_values.failure_of(error)})
        return
    send({"ready": True, "code": loaded_code.loaded()})
    for line in requests:
        request = json.loads(line)
        outcome = answer(parser, request["text"], chosen.value)
        send({**outcome, "code": loaded_code.loaded()} if "code" in request else outcome)


if __name__ == "__main__":
    main()
