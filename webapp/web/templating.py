"""Jinja settings: macros are looked up once, line breaks in sentences become spaces, and what is compiled is kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2.compiler
import jinja2.lexer
import jinja2.parser
from flask import Flask
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.environment import TemplateModule
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from webapp.web import filters

OPTIONS = {"trim_blocks": True, "lstrip_blocks": True}
_LINE_BREAK = re.compile(
    r"(?<=[^\s>])[ \t]*\n\s*(?=[^\s<]|\Z|<(?:a|b|code|del|ins|kbd|span)\b)|\A(?:[ \t]*\n\s*|\s{2,})(?=[^\s<])"
)
"""a line break, with the indentation after it, inside a tag or a sentence"""

_VERBATIM = re.compile(r"(?=</?(?:pre|textarea)\b)")
_COMPILERS = (jinja2.compiler.__file__, jinja2.lexer.__file__, jinja2.parser.__file__, filters.__file__, __file__)


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


class TemplateCache(FileSystemBytecodeCache):
    """Jinja's own, which leaves out what another version of Python wrote, or compilers other than today's.

    Nothing is written where Python writes no bytecode (`PYTHONDONTWRITEBYTECODE`), or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self._compilers = b"".join(sha256(Path(path).read_bytes()).digest() for path in _COMPILERS)

    def get_source_checksum(self, source: str) -> str:
        return sha256(self._compilers + source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def init_app(app: Flask) -> None:
    app.jinja_env.template_class = Template
    app.jinja_env.add_extension(JoinedLines)
    app.jinja_env.bytecode_cache = TemplateCache(Path(str(app.template_folder)) / "__pycache__")
