"""What Fencepost makes of every example, sample, corpus file and case, as one JSON document, and how two such differ.

    python -m benchmarks.oracle make OUT.json [--inputs ROOT] [--database URL] [--tenth] [--only WORD]
    python -m benchmarks.oracle compare BEFORE.json AFTER.json [--show 5]

It asks the app alone (`create_app`, the API) and the public `parse`, so that it runs over other trees too: a
rebuilding is compared with what was there before. `--inputs` names the checkout whose files are read (this one).
With a PostgreSQL server's URL it makes a database there and drops it again. Times of reading are told beside, and no
difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

import fencepost
from webapp.app import create_app
from webapp.config import Settings
from webapp.store.sessions import facets

ROOT = Path(__file__).resolve().parents[1]
SHARED = ("corpus", "samples", "samples-2", "cases/reports", "reference")
QUERIES = (
    *("error", "json", "tool", '"tool call"', "call*", "weather", "price invoice", "-error json", "session"),
    *("The", "café", "中文", "a", "```json", '{"name"', "get_weather", "import os", "select from", "sorry"),
)
FILTERS = (
    *("", "failed=1", "failed=0", "verdict=failed", "verdict=repaired", "verdict=none", "verdict=clean"),
    *("finding=any", "finding=lost_tool_call", "finding=cut_response", "home=unknown", "under=direct"),
    *("q=error", "q=tool", "sort=failed", "sort=turns", "model=gpt-4o", "format=openai", "phase=solve"),
)
PASSING = {"microseconds", "received_at", "window", "url", "id", "key", "session_key", "series", "range", "growth"} | {
    *("first_seen", "last_seen", "known_since")
}
"""fields that differ from run to run, or name a row"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make")
    make.add_argument("out", type=Path)
    make.add_argument("--inputs", type=Path, default=ROOT)
    make.add_argument("--database", help="URL of a PostgreSQL server, without a database")
    make.add_argument("--tenth", action="store_true", help="a tenth of this repository's own files, as the test does")
    make.add_argument("--only", default="", help="files whose name holds this")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    facets.LIMIT = 600.0  # seconds: on a busy machine, too, they are counted whole
    if options.command == "make":
        with server_database(options.database) as database, tempfile.TemporaryDirectory() as data:
            files, responses = (
                a_tenth(options.inputs) if options.tenth else (every_file(options.inputs), texts(options.inputs))
            )
            made = document([one for one in files if options.only in one[0]], Path(data), database, responses)
        if options.tenth:
            del made["seconds"]
        options.out.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
        raise SystemExit(0)
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    raise SystemExit(tell(differences(before, after), options.show))


File = tuple[str, bytes]


def every_file(root: Path) -> Iterator[File]:
    """Every file with the name that it is uploaded under: this repository's own, then those of `../shared`."""
    yield from own_files(root)
    shared = root.parent / "shared"
    for folder in SHARED:
        for path in sorted((shared / folder).rglob("*")):
            if path.is_file() and path.name not in ("LICENSE", "SOURCES.md", "expected.jsonl", "README.md"):
                yield str(path.relative_to(shared)), path.read_bytes()


def own_files(root: Path) -> list[File]:
    """The examples, and the dumps of the format cases, named after what is in them."""
    examples = sorted(path for path in (root / "examples").iterdir() if path.suffix.startswith(".json"))
    files = [(f"examples/{path.name}", path.read_bytes() + b"\n") for path in examples]  # as somebody's own: listed
    for path in sorted((root / "tests/dumps/formats/cases").glob("*.md")):
        files += [(f"formats/{name}", text.encode("utf-8", "surrogatepass")) for name, text in cases(path)]
    return files


def cases(path: Path) -> Iterator[tuple[str, str]]:
    """The texts of a file of cases (tests/cases/README.md), each between the first and second dot of three."""
    lines = path.read_text("utf-8").split("\n")
    dots = [index for index, line in enumerate(lines) if line == "."]
    for first, second in zip(dots[::3], dots[1::3], strict=True):
        text = "\n".join(lines[first + 1 : second])
        if lines[first - 1] == "escaped":
            text = text.encode("ascii").decode("unicode_escape")
        yield f"{path.stem}-{digest(text)[:8]}", text


def texts(root: Path) -> list[tuple[str, str]]:
    """The responses of the parsing cases, and of the extraction cases where `../shared` is there."""
    own = [path for path in sorted((root / "tests/cases").rglob("*.md")) if path.stem != "README"]
    made = [case for path in own for case in cases(path)]
    for path in sorted((root.parent / "shared/cases").glob("extraction*.jsonl")):
        lines = path.read_text("utf-8").rstrip("\n").split("\n")
        made += [(f"{path.stem}-{number}", json.loads(line)["text"]) for number, line in enumerate(lines, 1)]
    return made


def a_tenth(root: Path, names: Iterable[str] | None = None) -> tuple[list[File], list[tuple[str, str]]]:
    """Of our own files and parsing cases those with these names; without names each tenth, by what is in them."""
    files, responses = own_files(root), [one for one in texts(root) if not one[0].startswith("extraction")]
    if names is None:
        names = [name for name, content in files if name.startswith("examples/") or digest(content.hex())[0] == "0"]
        names += [name for name, text in responses if digest(text)[0] == "0"]
    chosen = set(names)
    return [one for one in files if one[0] in chosen], [one for one in responses if one[0] in chosen]


@contextmanager
def server_database(server: str | None) -> Iterator[str | None]:
    if server is None:
        yield None
        return
    name = f"fencepost_oracle_{uuid.uuid4().hex[:8]}"
    admin = sa.create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield f"{server}/{name}"
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        admin.dispose()


def document(
    files: Iterable[File], data: Path, database: str | None, responses: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Everything that the app says of the files, ingested one after the other, and of the responses."""
    settings = {"FENCEPOST_DATA": str(data)} | ({"FENCEPOST_DATABASE": database} if database else {})
    client = create_app(Settings.from_environment(settings)).test_client()
    uploads, seconds = {}, {}
    for name, content in files:
        began = time.perf_counter()
        answer = client.post(f"/api/dumps?filename={quote(name.rpartition('/')[2])}", data=content)
        seconds[name] = round(time.perf_counter() - began, 4)
        uploads[name] = {"status": answer.status_code} | plain(answer.get_json())
    return {
        "uploads": uploads,
        "sessions": {identity(session): whole_session(client, session) for session in every_session(client)},
        "lists": {query: listed(client, query) for query in FILTERS},
        "searches": {query: listed(client, f"q={quote(query)}", "total") for query in QUERIES},
        "failures": {one["key"]: plain(one) for one in client.get("/api/failures?limit=500").get_json()["failures"]},
        "parses": {name: parses(text) for name, text in responses},
        "seconds": seconds,
    }


def every_session(client: Any) -> Iterator[dict[str, Any]]:
    page = client.get("/api/sessions?limit=200").get_json()
    yield from page["sessions"]
    while page["next"]:
        page = client.get(f"/api/sessions?limit=200&after={quote(page['next'])}").get_json()
        yield from page["sessions"]


def identity(session: dict[str, Any]) -> str:
    return f"{session['id']} #{session['revision']}"


def whole_session(client: Any, session: dict[str, Any]) -> dict[str, Any]:
    """Strip, counters, findings, and each turn with the digests of its text and traces."""
    turns: list[dict[str, Any]] = []
    while True:
        page = client.get(f"/api/session/{session['key']}?from={len(turns)}&limit=500").get_json()
        turns += page["turns"]
        if not page["turns"] or len(turns) >= session["turns"]:
            break
    of_turns = {f"{turn['position']:05}": whole_turn(client, session, turn) for turn in turns}
    return {"session": plain(session), "findings": page["findings"], "turns": of_turns}


def whole_turn(client: Any, session: dict[str, Any], turn: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in turn.items() if value not in (None, False, 0) and name not in PASSING}
    place = f"/api/session/{session['key']}/turns/{turn['position']}"
    if turn["kind"] != "response":
        return said
    answer = client.get(f"{place}?profile=fencepost").get_json()
    said["raw"], said["trace fencepost"] = digest(answer["raw"]), trace_digest(answer.get("trace"))
    if session["home_profile"] not in (None, "fencepost", "unknown"):
        said["trace home"] = trace_digest(client.get(place).get_json().get("trace"))
    return said


def listed(client: Any, query: str, *only: str) -> dict[str, Any]:
    answer = client.get(f"/api/sessions?limit=500&{query}").get_json()
    shown = {name: answer.get(name) for name in only or ("total", "facets", "under")}
    ids = [identity(session) for session in answer.get("sessions", [])]
    return shown | {"ids": ids if "sort=" in query else sorted(ids), "error": answer.get("error")}


def parses(text: str) -> dict[str, str]:
    """The trace's verdict and digest under each profile but those of libraries, which differ with what is installed."""
    names = [name for name, profile in fencepost.profiles().items() if getattr(profile, "group", "") != "Libraries"]
    return {name: str(trace_digest(fencepost.parse(text, name).as_dict())) for name in sorted(names)}


def trace_digest(trace: dict[str, Any] | None) -> str | None:
    if trace is None:
        return None
    return f"{trace['verdict']} {digest({name: value for name, value in trace.items() if name not in PASSING})}"


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def plain(value: Any) -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name not in PASSING}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


Difference = tuple[str, str, Any, Any]


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Kind, place, value before, value after; the kind is the path without the names of files, sessions and turns."""
    for section in sorted((before.keys() | after.keys()) - {"seconds"}):
        one, other = before.get(section, {}), after.get(section, {})
        for name in sorted(one.keys() | other.keys()):
            yield from _differing(section, f"{section} {name}", one.get(name), other.get(name))


def _differing(kind: str, place: str, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            inner = kind if name.isdigit() else f"{kind}.{name}"
            yield from _differing(inner, f"{place} {name}", before.get(name), after.get(name))
    elif before != after and not _is_as_close(before, after):
        yield kind, place, before, after


def _is_as_close(before: Any, after: Any) -> bool:
    """Whether both are one sum of floats: Python 3.12 and later lose less of it."""
    return isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=1e-12)


def tell(found: Iterable[Difference], shown: int) -> int:
    """Print the differences, grouped by kind; 1 if there are any."""
    kinds: dict[str, list[Difference]] = defaultdict(list)
    for difference in found:
        kinds[difference[0]].append(difference)
    for kind, group in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(group):6} {kind}")
        for _, place, before, after in group[:shown]:
            print(f"         {place}\n           before {_short(before)}\n           after  {_short(after)}")
    print(f"{sum(map(len, kinds.values()))} differences in {len(kinds)} kinds; load {os.getloadavg()[0]:.1f}")
    return 1 if kinds else 0


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"


if __name__ == "__main__":
    main()
