"""Another model answered than the request names: an earlier or a smaller one, or one of another maker."""

from __future__ import annotations

import re

from webapp.findings.rule import MODEL, Detail, Observer, Rule, RuleContext, TurnView, code, number

_family = re.compile(
    r"gpt|claude|gemini|gemma|(?<!o)llama(?![-_.]?(?:cpp|server|index|file))|qwen|deepseek|mistral|mixtral|codestral"
    r"|grok|glm|kimi|minimax|\bo(?=[134]\b)"
)
_version = re.compile(
    r"(?:(?<![\da-z])[vkmr]?|(?<=[a-z])(?=\d\.\d))(\d)(?:[.:_-]?(\d))?(?!\d|\.?\d*(?:x|[bkmt](?![a-z])))"
)
_SIZED = ("claude", "gemini")
"""families of which no model has a name without a size"""
_size = re.compile(r"(?<![a-np-z])(?:mini|nano|lite|haiku|sonnet|opus|flash|pro)(?![a-z])")


class OtherModels(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.entry = -1
        self.said: Detail = {}

    def see(self, turn: TurnView) -> None:
        asked, answered = (turn.declared or {}).get("model"), turn.model
        is_deployment = "azure" in (turn.host or "")  # its owner named it, and may put another model behind it
        if not isinstance(asked, str) or not answered or is_deployment or turn.entry == self.entry:
            return
        if is_other(asked, answered):
            self.entry = turn.entry
            self.said = self.said or {"asked": asked, "answered": answered}
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return self.said


def is_other(asked: str, answered: str) -> bool:
    """Whether both names tell a model, and not the same one: an alias, a snapshot or a provider's prefix is none."""
    (family, version, sizes), (other, other_version, other_sizes) = _parts(asked), _parts(answered)
    if not version or not other:
        return False
    is_same = version.startswith(other_version) or other_version.startswith(version)
    is_sized = other_version != "" and (family not in _SIZED or bool(sizes and other_sizes))
    return family != other or not is_same or (is_sized and sizes != other_sizes)


def _parts(name: str) -> tuple[str, str, set[str]]:
    """The family of a model by its name, the digits of its version without dots, and the words of its size."""
    plain = re.split(r"[/\\]|\bmistral[.:]", name.lower())[-1]
    plain = plain.split(":")[1] if plain.startswith("ft:") else plain
    family = _family.search(plain)
    behind = re.split(r"\d{3}", plain[family.end() :])[0] if family else ""
    digits = _version.search(" " + behind.lstrip("-._ "))
    version = "".join(filter(None, digits.groups())) if digits else ""
    return family[0] if family else "", version, set(_size.findall(plain))


def says(detail: Detail) -> str:
    responses = "" if detail["turns"] == 1 else f", {number(detail['turns'], 'time')}"
    return f"{code(detail['asked'])} was asked, and {code(detail['answered'])} answered{responses}"


plugin = Rule("other_model", "medium", 65, MODEL, OtherModels, says)
