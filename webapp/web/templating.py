"""Jinja settings: imported macros are looked up once, and line breaks within tags and sentences become spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jinja2
from flask import Flask
from jinja2.environment import TemplateModule
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

OPTIONS = {"trim_blocks": True, "lstrip_blocks": True}
_LINE_BREAK = re.compile(
    r"(?<=[^\s>])[ \t]*\n\s*(?=[^\s<]|\Z|<(?:a|b|code|del|ins|kbd|span)\b)|\A(?:[ \t]*\n\s*|\s{2,})(?=[^\s<])"
)
"""a line break, with the indentation after it, inside a tag or a sentence"""

_VERBATIM = re.compile(r"(?=</?(?:pre|textarea)\b)")


class Template(jinja2.Template):
    """Imported macros see the environment's globals alone, so that one module of them does for every page.

    Jinja compares the globals of both templates at each import; every template of ours has the same ones.
    """

    def _get_default_module(self, ctx: Any = None) -> TemplateModule:
        return super()._get_default_module()


class JoinedLines(Extension):
    """Makes one space of each line break inside a tag or a sentence, so that short template lines keep pages small."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        verbatim = False
        for token in stream:
            if token.type != "data":
                yield token
                continue
            pieces = []
            for piece in _VERBATIM.split(token.value):
                if _VERBATIM.match(piece):
                    verbatim = not piece.startswith("</")
                pieces.append(piece if verbatim else _LINE_BREAK.sub(" ", piece))
            yield Token(token.lineno, "data", "".join(pieces))


def init_app(app: Flask) -> None:
    app.jinja_env.template_class = Template
    app.jinja_env.add_extension(JoinedLines)
