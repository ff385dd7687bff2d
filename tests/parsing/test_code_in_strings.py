"""Program code in a string whose quotes nobody escaped: the whole code is read, whatever members stand around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webapp.parsing import parse

CODE = (
    'x = {"a": 1, "b": [2]}',
    'd = {"a": "b", "c": "d"}\nprint(d["a"])',
    'def f():\n    """Does it."""\n    return "x"',
    'def f():\n    """',
    '"""A module."""\n\nimport os\n',
    '"""A module that says "yes".\n',
    'data = b""',
    'if s == "" {\n\treturn ""',
    'self.write(" ", *buffer)\nself.write(": ")',
    '    "a",\n    "b",',
    'import x from "y";',
    'console.log("a", {"b": 1});\nalert("c");',
    'printf("%d\\n", x);\nputs("done");',
    'http.Cookie{Name: "c", Value: "v"}',
    'x := map[string]int{"a": 1, "b": 2}',
    'git commit -m "fix: a, b" && echo "done"',
    'curl -H "Accept: text/html" -d \'{"a": "b"}\' http://localhost',
    'python -c "import json; print(json.dumps({"a": 1}))"',
    '# It says "a."\n# Then "b" c',
    'SELECT "a", "b" FROM t WHERE c = "d"',
    '<a href="x" class="y">z</a>',
)


def _plain(text: str) -> str:
    """`text` as it stands between a JSON string's quotes, but for its own quotes, which stay as they are."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')


SHAPES: tuple[tuple[str, Any], ...] = (
    ('{"tool": "run_code", "code": "%s"}', lambda code: {"tool": "run_code", "code": code}),
    ('{"code": "%s", "timeout": 30}', lambda code: {"code": code, "timeout": 30}),
    ('{"name": "w", "arguments": {"text": "%s"}}', lambda code: {"name": "w", "arguments": {"text": code}}),
    (
        '{"arguments": {"text": "%s", "path": "a.py"}, "name": "w"}',
        lambda code: {"arguments": {"text": code, "path": "a.py"}, "name": "w"},
    ),
    ('Sure:\n```json\n{\n  "code": "%s",\n  "lang": "py"\n}\n```', lambda code: {"code": code, "lang": "py"}),
)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("code", CODE)
def test_the_whole_code_is_read(code: str, shape: int) -> None:
    template, expected = SHAPES[shape]
    raw = template.replace("%s", _plain(code))
    assert list(parse(raw).values) == [expected(code)], raw
