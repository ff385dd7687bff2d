"""What the API answers to an upload: the dump of each file, its error, or the job that reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response, jsonify, url_for

from webapp.store.ingest.result import IngestResult, problem_dict
from webapp.store.sessions import dumps as store
from webapp.web.dumps.uploads import RefusedUpload


def queued(numbers: list[int]) -> tuple[Response, int]:
    """202, with each file's job and where to ask how far it is."""
    job_links = [{"id": number, "url": url_for("jobs.show_api", number=number)} for number in numbers]
    response = jsonify(job=job_links[0], **({"jobs": job_links} if len(job_links) > 1 else {}))
    response.headers["Location"] = job_links[0]["url"]
    return response, 202


def as_sent(result: IngestResult, filename: str) -> IngestResult:
    """What who may only write is told of a file: of one that was there before, nothing that its first sender said."""
    dump = replace(result.dump, filename=filename, not_in_log=result.dump.not_in_log if result.created else None)
    return replace(result, dump=dump) if result.created else replace(result, dump=dump, sessions=[], problems=[])


def answer(results: list[IngestResult | RefusedUpload]) -> tuple[Response, int]:
    """One file: its dump, or its error. Several: the first's, and `dumps` with each one's."""
    bodies = [result_dict(result) for result in results]
    taken = [result for result in results if isinstance(result, IngestResult)]
    if not taken and isinstance(results[0], RefusedUpload):
        return jsonify({**bodies[0], "dumps": bodies}), results[0].status
    several = {"dumps": bodies} if len(results) > 1 else {}
    return jsonify({**result_dict(taken[0]), **several}), 201 if any(result.created for result in taken) else 200


def result_dict(result: IngestResult | RefusedUpload) -> dict[str, Any]:
    if isinstance(result, RefusedUpload):
        dump = {} if result.dump is None else {"dump": {"id": result.dump}}
        return {"filename": result.filename, "error": result.as_dict(), **dump}
    return {
        "dump": dump_dict(result.dump),
        "sessions": result.sessions,
        "problems": [problem_dict(problem) for problem in result.problems],
    }


def dump_dict(line: store.DumpLine) -> dict[str, Any]:
    names = ("id", "sha256", "filename", "format", "bytes", "state", "answers_missing", "not_in_log")
    return {
        **{name: getattr(line, name) for name in names},
        "sessions": line.session_count,
        "turns": line.turn_count,
        "problems": line.problem_count,
        "received_at": line.received_at.isoformat(),
    }
