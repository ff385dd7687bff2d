"""The rules of PARSERS.md straight down, with the original regular expressions: what the profiles must equal.

Each function takes a response and returns the list of values that its parser gave its program, empty where it failed.
"""

from __future__ import annotations

import json
import re

JS_WHITE = "[\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
BROKEN = (ValueError, RecursionError)


def direct(text: str) -> list:
    try:
        return [json.loads(text)]
    except BROKEN:
        return []


def windlass_calls(blocks: list[str], balance: bool = False) -> list:
    calls = []
    for block in blocks:
        try:
            data = json.loads(block)
        except BROKEN:
            if not balance or not block.endswith("}") or block.count("}") <= block.count("{"):
                continue
            try:
                data = json.loads(block.rstrip("}") + "}" * block.count("{"))
            except BROKEN:
                continue
        if isinstance(data, dict) and "tool" in data and isinstance(data.get("arguments", {}), dict):
            calls.append(data)
    return calls


def windlass_strict(text: str) -> list:
    return windlass_calls(re.findall(r"```json\s*(\{[^`]*\})\s*```", text, re.DOTALL | re.IGNORECASE))


def windlass_balanced(text: str) -> list:
    blocks = re.findall(r"```json\s*(\{[^`]*\})\s*```", text, re.DOTALL | re.IGNORECASE)
    return windlass_calls(blocks, balance=True)


def windlass_eager(text: str) -> list:
    fence = r"```(?:json)?\s*(\{[^`]*\})\s*```"
    blocks = re.findall(fence, text, re.DOTALL)
    rest = re.sub(fence, "", text, flags=re.DOTALL)
    return windlass_calls(blocks + re.findall(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", rest, re.DOTALL))


def fix_json(text: str) -> str:
    result, in_string, escaped = [], False, False
    escapes = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    for char in text:
        if char == '"' and not escaped:
            in_string = not in_string
            result.append(char)
            continue
        if char == "\\" and not escaped:
            escaped = True
            result.append(char)
            continue
        result.append(escapes.get(char, char) if in_string and not escaped else char)
        escaped = False
    return "".join(result)


def js_parse(text: str) -> object:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def four_tier(text: str) -> list:
    try:
        return [js_parse(text)]
    except BROKEN:
        pass
    try:
        fence = re.search(rf"```json{JS_WHITE}*([\s\S]*?){JS_WHITE}*```", text)
        if fence and fence[1]:
            try:
                return [js_parse(fence[1])]
            except BROKEN:
                return [js_parse(fix_json(fence[1]))]
        braces = re.search(r"\{[\s\S]*\}", text)
        if braces:
            try:
                return [js_parse(braces[0])]
            except BROKEN:
                return [js_parse(fix_json(braces[0]))]
        return [js_parse(fix_json(text))]
    except BROKEN:
        return []


MASTER = r"```json\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})\s*```"


def master_scored(text: str) -> list:
    for pattern in (MASTER, MASTER.replace("json", "")):
        for match in re.finditer(pattern, text, re.DOTALL):
            try:
                return [json.loads(match[1])]
            except BROKEN:
                continue
    found, count, start = [], 0, None
    for index, char in enumerate(text):
        if char == "{":
            if count == 0:
                start = index
            count += 1
        elif char == "}":
            count -= 1
            if count == 0 and start is not None:
                found.append(text[start : index + 1])
    scored = []
    for candidate in found:
        try:
            value = json.loads(candidate)
        except BROKEN:
            continue
        score = ("agents" in value) * 100 + ("complexity" in value) * 10 + ("strategy" in value) * 10
        scored.append((score, value))
    if scored:
        return [max(scored, key=lambda pair: pair[0])[1]]
    try:
        return [json.loads(text.strip())]
    except BROKEN:
        return []


def master_before(text: str) -> list:
    match = re.search(r"\{.*?\}", text, re.DOTALL)
    return direct(match[0]) if match else []


FIELDS = ("truth", "indeterminacy", "falsehood", "reasoning")


def fire_circle_strict(text: str) -> list:
    try:
        text = text.strip()
        if "```json" in text:
            start = text.index("```json") + 7
            text = text[start : text.index("```", start)].strip()
        elif "```python" in text:
            start = text.index("```python") + 9
            text = text[start : text.index("```", start)].strip()
        elif "```" in text:
            start = text.index("```") + 3
            end = text.find("```", start)
            text = (text[start:end] if end >= 0 else text[start:]).strip()
        if text.startswith("{{"):
            text = text[1:]
        if text.endswith("}}"):
            text = text[:-1]
        if text.startswith("{"):
            count = 0
            for index, char in enumerate(text):
                count += (char == "{") - (char == "}")
                if char == "}" and count == 0:
                    text = text[: index + 1]
                    break
        value = json.loads(text, strict=False)
    except BROKEN:
        return []
    return [value] if isinstance(value, dict) and all(field in value for field in FIELDS) else []


def fire_circle(text: str) -> list:
    values = fire_circle_strict(text)
    if values:
        return values
    found = {}
    for field in FIELDS[:3]:
        match = re.search(rf"{field}[:\s]+([\d.]+)", text, re.IGNORECASE)
        if match is None:
            return []
        try:
            found[field] = float(match[1])
        except ValueError:
            return []
    return [found]


def fire_circle_before(text: str) -> list:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) >= 6:
        label = next((label for label in ("```json", "```python") if text.startswith(label)), "```")
        text = text[len(label) : -3].strip() if len(text) >= len(label) + 3 else ""
    return direct(text)
