"""The head of a trace in the terminal: verdict and flags in colour, without rich, which takes long to import."""

from __future__ import annotations

import os
import sys

import click

from webapp.parsing import words
from webapp.parsing.trace import Trace
from webapp.visible import visible

COLOURS = {"clean": "green", "extracted": "cyan", "repaired": "yellow", "failed": "red", "none": "bright_black"}


def print_head(trace: Trace) -> None:
    """The first lines: mark and verdict, then the flags and policies that are set."""
    colour = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    verdict = f"{words.MARKS[trace.verdict]} {words.verdict_sentence(trace)}"
    click.secho(verdict, sys.stdout, color=colour, fg=COLOURS[trace.verdict], bold=True)
    for sentence in (*words.flag_sentences(trace), *words.policy_sentences(trace)):
        click.secho(visible(f"  {sentence}"), sys.stdout, color=colour)
