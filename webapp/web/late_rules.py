"""URL rules that compile how their links are built when the first link is: a start compiles none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from werkzeug.routing import Rule

Build = Callable[..., tuple[str, str]]

_shared: dict[tuple[object, ...], Build] = {}
"""what was compiled in this process, by what it depends on, for its other apps"""


class LateRule(Rule):
    """A rule whose two functions compile themselves when first called: three quarters of what binding costs."""

    def _compile_builder(self, append_unknown: bool = True) -> Build:
        name = "_build_unknown" if append_unknown else "_build"

        def compile_and_build(rule: LateRule, /, **values: Any) -> tuple[str, str]:
            build: Build = rule._builder(append_unknown).__get__(rule)
            setattr(rule, name, build)
            return build(**values)

        return compile_and_build

    def _builder(self, append_unknown: bool) -> Build:
        if self.defaults:
            return super()._compile_builder(append_unknown)
        key = (append_unknown, *self._trace)
        if key not in _shared:
            _shared[key] = super()._compile_builder(append_unknown)
        return _shared[key]
