"""Runs schemathesis over the API by its own description: nothing that is answered may contradict it.

    python -m benchmarks.fuzz_api [--seconds 180] [--examples 50] [--seed 0] [--token] [--database URL]

Without `--database` a SQLite file of its own is filled and thrown away; another database is migrated and filled, so
name an empty one. Exits 1 where something was found, and prints it with the call by curl.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask
from werkzeug.serving import make_server

from webapp.app import create_app
from webapp.config import Settings
from webapp.web import worker_process

TOKEN = "a-token-for-the-fuzzer"
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance"),
    *("response_schema_conformance", "negative_data_rejection", "unsupported_method", "allow_header_conformance"),
    *("missing_required_header", "ignored_auth"),
)
OTHERS = ("positive_data_acceptance", "use_after_free", "ensure_resource_availability", "object_level_authorization")
"""not asked: cursors, patterns, dates and paths may be refused though their schema is a text; nothing is deleted"""
DUMPS = (
    b"""{"session_id": "SESSION", "entries": [{"node_type": "agent", "role": "user", "content": "Do it."},
    {"node_type": "agent", "role": "assistant", "model": "m", "content": "{\\"a\\": 1,}}"}]}""",
    b'{"id": "m", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "[1, 2"}]}',
    b'{"o": {"t": "text"}, "r": "run 1"}\n{"o": {"t": "text"}, "r": "run 2"}\n',
)


@dataclass
class Outcome:
    """How many requests were sent, to which operations, and what was found, each with its call."""

    requests: int = 0
    operations: set[str] = field(default_factory=set)
    found: dict[str, str] = field(default_factory=dict)


def filled(settings: Settings) -> Flask:
    """An app with sessions, a label, a kept dump that no format knows, a job and a run."""
    app = create_app(settings)
    client = app.test_client()
    headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
    for number, dump in enumerate(DUMPS):
        client.post(f"/api/dumps?filename={number}.json&home=direct", data=dump, headers=headers)
    client.put("/api/session/SESSION/turns/1/label", json={"judgement": "wrong", "author": "Ada"}, headers=headers)
    client.post("/api/profiles/langchain/runs", headers=headers)
    return app


def run(app: Flask, *, examples: int, seed: int = 0, seconds: int | None = None, edges: bool = True) -> Outcome:
    """Draw `examples` for each operation, before them with `edges` the edge cases of each parameter."""
    import schemathesis
    from schemathesis import engine
    from schemathesis.engine.events import NonFatalError, ScenarioFinished

    token = app.config["SETTINGS"].token
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
    config = {
        "seed": seed,
        "headers": headers,
        "generation": {"max-examples": examples, "database": "none"},
        "checks": {name: {"enabled": name in CHECKS} for name in (*CHECKS, *OTHERS)},
        "phases": {"stateful": {"enabled": False}, "coverage": {"enabled": edges}, "examples": {"enabled": edges}},
        "continue-on-failure": True,
        **({"max-time": seconds} if seconds else {}),
    }
    outcome = Outcome()
    with served(app) as url:
        settings = schemathesis.Config.from_dict(config)
        schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json", config=settings, headers=headers)
        for event in engine.from_schema(schema).execute():
            if isinstance(event, ScenarioFinished):
                _count(event, outcome)
            elif isinstance(event, NonFatalError):
                outcome.found[str(event.label)] = str(event.info.format())
    return outcome


@contextmanager
def served(app: Flask) -> Iterator[str]:
    """The address of the app, served by a thread of this process, which logs nothing meanwhile."""
    loggers = (app.logger, logging.getLogger("werkzeug"))
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _count(event: object, outcome: Outcome) -> None:
    recorder = event.recorder  # type: ignore[attr-defined]
    outcome.requests += len(recorder.interactions)
    outcome.operations.add(recorder.label)
    for case, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                call = recorder.cases[case].value.as_curl_command()
                outcome.found.setdefault(f"{recorder.label}: {failure.title}", f"{failure.message}\n{call}")


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--seconds", type=int, default=180)
    reader.add_argument("--examples", type=int, default=50, help="drawn for each operation")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--token", action="store_true", help="have the server ask for a token")
    reader.add_argument("--database", help="SQLAlchemy URL of an empty database")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = options.database or f"sqlite:///{folder}/f.sqlite3"
        app = filled(Settings(data=Path(folder), database=database, token=TOKEN if options.token else None))
        outcome = run(app, examples=options.examples, seed=options.seed, seconds=options.seconds)
        worker_process.of(app).close()
    for name, words in outcome.found.items():
        print(f"{name}\n{words}\n")
    print(f"{outcome.requests:,} requests to {len(outcome.operations)} operations, {len(outcome.found)} found")
    sys.exit(bool(outcome.found))


if __name__ == "__main__":
    main()
