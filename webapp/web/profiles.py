"""Profiles: the parsers that can be run over a response, and what each of them does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask import Blueprint, render_template

from webapp import plugins
from webapp.parsing import profile, profiles

blueprint = Blueprint("profiles", __name__)

STEP = re.compile(r"(?:^|(?<=[.,] ))(\d+[ab]?)\. ")

REPORTS = {
    "000": "Fire Circle Parsing Bug Fixes",
    "001": "Regex Strictness Fix - Only Parse ```json Blocks",
    "002": "JSON Parsing Improvements",
    "003": "JSON Parsing Strategies",
    "004": "Malformed JSON Tool Calls Fix",
}
"""The five field reports' titles, by their numbers."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A profile as its page shows it."""

    name: str
    version: str
    help: str
    about: str
    report: str | None


def line(name: str) -> ProfileLine:
    """Raises `UnknownProfile`."""
    found = profile(name)
    help_text = plugins.help_of("webapp.parsing.profiles").get(name, "")
    report = REPORTS.get(getattr(found, "report", None) or "")
    return ProfileLine(name, found.version, help_text, getattr(found, "about", ""), report)


def paragraphs(about: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """What a profile says of itself: each line's opening words, and its numbered steps as (number, text)."""
    parts = []
    for line_ in filter(None, about.splitlines()):
        words, *steps = STEP.split(line_)
        parts.append((words.strip(), list(zip(steps[::2], (text.strip(" ,") for text in steps[1::2]), strict=True))))
    return parts


@blueprint.get("/profiles")
def index() -> str:
    return render_template("profiles/index.html", profiles=[line(name) for name in profiles()])


@blueprint.get("/profiles/<name>")
def show(name: str) -> str:
    found = line(name)
    return render_template("profiles/show.html", profile=found, paragraphs=paragraphs(found.about))
