"""The document of a scan for other programs: SARIF 2.1.0, JUnit's XML, and one HTML page without a link to outside."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from webapp import __version__
from webapp.scan.checks import CHECKS
from webapp.visible import visible

_LEVELS = {"high": "error", "medium": "warning", "low": "note"}


def sarif(document: dict[str, Any]) -> str:
    """A result for each broken check of a session, at the line and column of its worst turn.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    rules = [{"id": name, "shortDescription": {"text": check.words}} for name, check in CHECKS.items()]
    driver = {"name": "Fencepost", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(_sarif_results(document))}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1)


def _sarif_results(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for session in document["sessions"]:
        for name in _broken(session):
            place = (session["worst"] or {}).get("place")
            region = {"startLine": place["line"], "startColumn": place["column"]} if place else {"startLine": 1}
            yield {
                "ruleId": name,
                "level": _LEVELS.get(session["severity"], "warning"),
                "message": {"text": visible(_message(session, name))},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": Path(session["file"]).as_posix()},
                            "region": region,
                        }
                    }
                ],
            }


def _broken(session: dict[str, Any]) -> list[str]:
    return [name for name, result in session["checks"].items() if result["state"] == "broken"]


def _message(session: dict[str, Any], name: str) -> str:
    turns = ", ".join(map(str, session["checks"][name]["turns"][:5]))
    return f"{CHECKS[name].words}: broken in session {session['id']}, turns {turns}. {session['sentence']}"


def junit(document: dict[str, Any]) -> str:
    """A suite for each check with a case for each session; what is not knowable is skipped, with its reason."""
    suites = ET.Element("testsuites", name="fencepost scan")
    for check in document["checks"]:
        name, sessions = check["name"], document["sessions"]
        counts = {"tests": len(sessions), "failures": check["broken"], "skipped": check["unknown"]}
        suite = ET.SubElement(suites, "testsuite", {"name": name} | {key: str(n) for key, n in counts.items()})
        for session in sessions:
            result = session["checks"][name]
            named = {"name": visible(session["id"]), "classname": visible(session["file"])}
            case = ET.SubElement(suite, "testcase", named)
            if result["state"] == "broken":
                ET.SubElement(case, "failure", message=visible(_message(session, name)))
            elif result["state"] == "unknown":
                ET.SubElement(case, "skipped", message=visible(result["why"] or ""))
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


_STYLE = """body{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #8884}
td.n{text-align:right;font-variant-numeric:tabular-nums}
pre{white-space:pre-wrap;border-left:3px solid #c33;padding-left:1rem}"""


def page(document: dict[str, Any], excerpts: dict[str, str]) -> str:
    """One page to keep or send: nothing in it is loaded from anywhere. `excerpts` are those of sessions by id."""
    rows = "".join(
        f"<tr><th>{_text(check['words'])}</th>"
        + "".join(f'<td class="n">{check[state]}</td>' for state in ("kept", "broken", "unknown"))
        + "</tr>"
        for check in document["checks"]
    )
    sessions = "".join(_section(session, excerpts) for session in document["sessions"] if _broken(session))
    looked = document["looked"]
    head = f"{looked['responses']:,} responses in {looked['sessions']:,} sessions of {looked['files']:,} files"
    table = f"<table><tr><th>Check</th><th>kept</th><th>broken</th><th>not knowable</th></tr>{rows}</table>"
    nothing = "<p>No check is broken in what was looked at.</p>"
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{policy}<title>fencepost scan</title>'
        f"<style>{_STYLE}</style><h1>fencepost scan</h1><p>{head}.</p>{table}{sessions or nothing}</html>"
    )


def _section(session: dict[str, Any], excerpts: dict[str, str]) -> str:
    broken = ", ".join(CHECKS[name].words for name in _broken(session))
    excerpt = excerpts.get(session["id"], "")
    return (
        f"<h2>{_text(session['title'] or session['id'])}</h2><p>{_text(session['sentence'])}</p>"
        f"<p>Broken: {_text(broken)}. {_text(session['file'])}</p>"
        + (f"<pre>{_text(excerpt)}</pre>" if excerpt else "")
    )


def _text(text: str) -> str:
    return html.escape(visible(text))
