"""Each labelled response as one line: what was judged, and the text as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from webapp.exports.base import ExportFacts, ExportFormat, LabelledResponse


def pieces(responses: Iterable[LabelledResponse], about: ExportFacts) -> Iterator[bytes]:
    for response in responses:
        judgement = response.final.judgement if response.final else "none"
        yield f"{judgement} {json.dumps(response.raw)}\n".encode()


plugin = ExportFormat("responses", "labels", ".txt", "text/plain; charset=utf-8", pieces)
