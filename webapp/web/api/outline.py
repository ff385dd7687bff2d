"""A JSON Schema as a person writes JSON: keys with the kinds of their values."""

from __future__ import annotations

from webapp.web.api.shapes import Schema

_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "null": "null"}
_INDENT = "  "
_LIMITLESS = 2**63 - 1


def outline(schema: Schema, depth: int = 0) -> str:
    """Text in lines; a `?` behind a key says that it is not always there."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(outline(choice, depth) for choice in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if "const" in schema:
        return "true" if schema["const"] is True else f'"{schema["const"]}"'
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(outline(schema | {"type": each}, depth) for each in kind)
    if kind == "array":
        return _array(schema, depth)
    if kind == "object":
        return _object(schema, depth)
    return f"{_KINDS.get(kind, kind)}{_range(schema)}"


def _array(schema: Schema, depth: int) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(outline(item, depth) for item in schema['prefixItems'])}]"
    items = outline(schema["items"], depth)
    return f"[{items}, {items}]" if schema.get("maxItems") == 2 else f"[{items}, …]"


def _object(schema: Schema, depth: int) -> str:
    if "properties" not in schema:
        return f"{{name: {outline(schema.get('additionalProperties', {}), depth)}, …}}"
    inner = _INDENT * (depth + 1)
    lines = [
        f'{inner}"{name}"{"" if name in schema["required"] else "?"}: {outline(value, depth + 1)}'
        for name, value in schema["properties"].items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{_INDENT * depth}}}"


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum", _LIMITLESS)
    if least in (None, 0) and most == _LIMITLESS:
        return ""
    return f" from {least}" if most == _LIMITLESS else f" from {least} to {most:,}"
