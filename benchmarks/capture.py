"""What capture costs: released parsers alone, and under the hooks with everything located, in CPU time.

    python -m benchmarks.capture ../shared/cases/extraction.jsonl ../shared/cases/extraction-2.jsonl

Run it with the Python of an environment that has the libraries, and this folder on PYTHONPATH; what is not installed is
named. Prints one JSON document: for each parser microseconds a response alone and captured, their ratio over all
responses, the worst ratio of a single response, the microseconds of the slowest, how many attempts there were, how many
of them are located, and over how many responses the value or the error was another than alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import adapters
from webapp.capture import hooks
from webapp.capture.hooks import RECORDER
from webapp.capture.locate import locate
from webapp.capture.process import DecoderCall

Parser = Callable[[str], Any]
ROUNDS = 5


def _named(module: str, function: str) -> Callable[[], Parser]:
    return lambda: getattr(importlib.import_module(module), function)


def _decoded(module: str, function: str) -> Callable[[], Parser]:
    """A parser that cuts out a text, which its program then decodes."""

    def loaded() -> Parser:
        cut_out = getattr(importlib.import_module(module), function)
        return lambda text: json.loads(cut_out(text))

    return loaded


def _adapted(parser: Parser, *needs: str) -> Callable[[], Parser]:
    def loaded() -> Parser:
        for module in needs:
            importlib.import_module(module)
        return parser

    return loaded


PARSERS: dict[str, Callable[[], Parser]] = {
    "langchain-core": _named("langchain_core.utils.json", "parse_json_markdown"),
    "llama-index-core": _named("llama_index.core.output_parsers.utils", "parse_json_markdown"),
    "instructor": _adapted(adapters.instructor_last_value, "instructor.v2.core.json"),
    "dspy": _adapted(adapters.dspy_fields, "dspy.adapters.json_adapter"),
    "pydantic-ai": _adapted(adapters.pydantic_ai_text_output, "pydantic_ai._utils"),
    "smolagents": _adapted(adapters.smolagents_blob, "smolagents.utils"),
    "agno": _named("agno.utils.string", "parse_response_dict_str"),
    "haystack": _named("haystack.utils.misc", "_parse_dict_from_json"),
    "autogen": _named("autogen_core.utils._load_json", "extract_json_from_str"),
    "mem0": _decoded("mem0.memory.utils", "extract_json"),
    "json-repair": _named("json_repair", "loads"),
    "partial-json-parser": _named("partial_json_parser", "loads"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="+", type=Path, help='JSON lines with {"text"}')
    options.add_argument("--worker", choices=("alone", "captured"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        logging.disable()
        if chosen.worker == "captured":
            hooks.install()
        print(json.dumps(every_parser(_texts(chosen.files), chosen.worker == "captured")))
        return
    alone, captured = (_in_a_process(kind) for kind in ("alone", "captured"))
    absent = alone.pop("not_installed")
    results = {name: compared(alone[name], captured[name]) for name in alone}
    ratios = [result["ratio"] for result in results.values()]
    print(json.dumps({"median": statistics.median(ratios), "parsers": results, "not_installed": absent}, indent=2))


def _in_a_process(kind: str) -> dict[str, Any]:
    """The hooks have to be there before the libraries are, and must not be there where they run alone."""
    command = [sys.executable, "-m", "benchmarks.capture", *sys.argv[1:], "--worker", kind]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def every_parser(texts: list[str], hooked: bool) -> dict[str, Any]:
    results: dict[str, Any] = {"not_installed": []}
    for name, load in PARSERS.items():
        try:
            parser = load()
        except ImportError as error:
            results["not_installed"].append(f"{name}: {error}")
            continue
        results[name] = measured(parser, texts, hooked)
    return results


def _texts(files: list[Path]) -> list[str]:
    return [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").split("\n") if line]


def measured(parser: Parser, texts: list[str], hooked: bool) -> dict[str, Any]:
    """Nanoseconds of each response, the quickest of some rounds; what came out, how many attempts, how many located."""
    times: list[list[int]] = [[] for _ in texts]
    outcomes, attempts, located = [], 0, 0
    for turn in range(ROUNDS):
        for index, text in enumerate(texts):
            started = time.process_time_ns()
            value, places = recorded(parser, text) if hooked else (outcome(parser, text), [])
            times[index].append(time.process_time_ns() - started)
            if turn == 0:
                outcomes.append(value)
                attempts += len(places)
                located += sum(place.how not in ("derived", "unlocated") for place in places)
    return {"times": [min(each) for each in times], "outcomes": outcomes, "attempts": attempts, "located": located}


def compared(alone: dict[str, Any], captured: dict[str, Any]) -> dict[str, Any]:
    own, with_capture = alone["times"], captured["times"]
    each = [after / max(before, 1) for before, after in zip(own, with_capture, strict=True)]
    pairs = zip(alone["outcomes"], captured["outcomes"], strict=True)
    return {
        "alone": round(sum(own) / len(own) / 1000, 1),
        "captured": round(sum(with_capture) / len(own) / 1000, 1),
        "ratio": round(sum(with_capture) / sum(own), 2),
        "worst_ratio": round(max(each), 1),
        "slowest": round(max(with_capture) / 1000, 1),
        "attempts": captured["attempts"],
        "located": captured["located"],
        "changed": sum(before != after for before, after in pairs),
    }


def outcome(parser: Parser, text: str) -> str:
    try:
        return repr(parser(text))
    except Exception as error:  # noqa: BLE001 — the parser's own refusal
        return f"{type(error).__name__}: {error}"


def recorded(parser: Parser, text: str) -> tuple[str, list[Any]]:
    RECORDER.start(text)
    value = outcome(parser, text)
    calls = [DecoderCall.from_dict(call) for call in RECORDER.stop()]
    return value, locate(text, calls)


if __name__ == "__main__":
    main()
