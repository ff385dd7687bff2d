"""Random mutants of the code, and whether a test that runs the changed line notices each.

    pip install pytest-cov
    python -m pytest --cov=webapp --cov-context=test tests/store …          # which test runs which line
    python -m benchmarks.mutants .coverage mutants.jsonl [--count 200] [--seed 29] [--packages parsing store web]
                                 [--tests tests/store …] [--without ids.txt]

A mutant is one operator, number, condition, text, result or call of a function, changed. Functions are changed where
they are, in a fork of a process that has collected the tests once, so that what a mutant costs is its tests; processes
which those start run the unchanged code. A mutant's tests are those whose context has the changed line, the ones that
run the fewest lines first and at most 60, until one fails; one that takes a minute of processor time counts as noticed.
Tests of browsers and PostgreSQL are left out. Appends a line of JSON for each mutant that the file does not have: its
place, its change, `caught`, `survived` or `not run`, and the test that noticed it.

Before tests go, `--without` names a file with the beginnings of their ids, one a line. Mutants are drawn from the lines
that these run and few others; of those that they notice, one is `caught` where another test does too, else `lost`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MOST_TESTS, MOST_SECONDS, FEW = 60, 60, 10
SWAPS: dict[type[ast.AST], Callable[[], Any]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A change of a line of a file: the `number`th of those that its functions allow."""

    file: str
    number: int
    line: int
    change: str


class Mutator(ast.NodeVisitor):
    """Walks a file's functions in order and makes the change with the number that it is to make; notes all of them."""

    def __init__(self, file: str, wanted: int | None = None) -> None:
        self.file, self.wanted, self.mutants, self.inside = file, wanted, list[Mutant](), False

    def offer(self, node: Any, change: str) -> bool:
        """Whether this is the change to make."""
        if not self.inside:
            return False
        self.mutants.append(Mutant(self.file, len(self.mutants), node.lineno, change))
        return len(self.mutants) - 1 == self.wanted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.inside = self.inside, True
        for place, statement in enumerate(node.body):
            if place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # the docstring
            self.visit(statement)
        self.inside = outer

    def visit_Assert(self, node: ast.Assert) -> None:
        """What it says is for the type checker."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """The words of an error are not changed."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            swap = SWAPS.get(type(operator))
            if swap and self.offer(node, f"{type(operator).__name__} -> {type(swap()).__name__}"):
                node.ops[place] = swap()
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        swap = SWAPS.get(type(node.op))
        if swap and self.offer(node, f"{type(node.op).__name__} -> {type(swap()).__name__}"):
            node.op = swap()
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        swap = SWAPS[type(node.op)]
        if self.offer(node, f"{type(node.op).__name__} -> {type(swap()).__name__}"):
            node.op = swap()
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        if self.offer(node, "if -> if not"):
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit_If(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            other: Any = not value
        elif isinstance(value, int):
            other = value + 1
        elif isinstance(value, str) and value:
            other = value + "X"
        else:
            return
        if self.offer(node, f"{value!r:.40} -> {other!r:.42}"):
            node.value = other

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and self.offer(node, "return -> return None"):
            node.value = ast.copy_location(ast.Constant(None), node.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and self.offer(node, "call -> nothing"):
            node.value = ast.copy_location(ast.Constant(None), node.value)
        self.generic_visit(node)


def every_mutant(packages: list[str]) -> Iterator[Mutant]:
    for path in sorted(path for package in packages for path in (ROOT / "webapp" / package).rglob("*.py")):
        mutator = Mutator(str(path.relative_to(ROOT)))
        mutator.visit(ast.parse(path.read_text("utf-8")))
        yield from mutator.mutants


def put(mutant: Mutant) -> None:
    """Give the functions that stem from the file of a mutant its code."""
    path = ROOT / mutant.file
    tree = ast.parse(path.read_text("utf-8"))
    Mutator(mutant.file, mutant.number).visit(tree)
    compiled = _codes(compile(ast.fix_missing_locations(tree), str(path), "exec"))
    codes = {(code.co_qualname, code.co_firstlineno): code for code in compiled}
    gc.unfreeze()
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        code = function.__code__
        other = codes.get((code.co_qualname, code.co_firstlineno))
        if code.co_filename == str(path) and other is not None and other.co_freevars == code.co_freevars:
            function.__code__ = other


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class Contexts:
    """Which tests ran a line, by the data that `coverage` wrote."""

    def __init__(self, path: Path) -> None:
        from coverage.numbits import num_in_numbits

        self.file = sqlite3.connect(path)
        self.file.create_function("runs", 2, num_in_numbits)
        self.sizes = dict(
            self.file.execute("SELECT context_id, sum(length(numbits)) FROM line_bits GROUP BY context_id").fetchall()
        )

    def hardly_run_without(self, file: str, going: tuple[str, ...]) -> set[int]:
        """The lines of a file that tests run whose ids begin like these, and at most `FEW` others."""
        from coverage.numbits import numbits_to_nums

        rows = self.file.execute(
            "SELECT context.context, numbits FROM line_bits JOIN context ON context.id = context_id"
            " JOIN file ON file.id = file_id WHERE file.path LIKE ?",
            (f"%/{file}",),
        )
        found = [(name.rpartition("|")[0], bits) for name, bits in rows]
        lines = {line for name, bits in found if name.startswith(going) for line in numbits_to_nums(bits)}
        others: dict[int, set[str]] = defaultdict(set)
        for name, bits in found:
            for line in [] if name.startswith(going) else lines.intersection(numbits_to_nums(bits)):
                others[line].add(name)
            lines -= {line for line in lines if len(others[line]) > FEW}
        return lines

    def tests(self, mutant: Mutant) -> list[str]:
        """The ids of tests that run this line, first the ones that run least."""
        rows = self.file.execute(
            "SELECT context.id, context.context FROM line_bits JOIN context ON context.id = context_id"
            " JOIN file ON file.id = file_id WHERE file.path LIKE ? AND runs(?, numbits)",
            (f"%/{mutant.file}", mutant.line),
        ).fetchall()
        ordered = sorted((self.sizes[number], name.rpartition("|")[0]) for number, name in rows if "|" in name)
        return list(dict.fromkeys(name for _, name in ordered))


class Plugin:
    """Runs, in place of the tests that were collected, those of each mutant in a fork."""

    def __init__(self, mutants: list[Mutant], contexts: Contexts, results: Path, going: tuple[str, ...]) -> None:
        self.mutants, self.contexts, self.results, self.going = mutants, contexts, results, going

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for mutant in self.mutants:
            tests = [items[name] for name in self.contexts.tests(mutant) if name in items]
            verdict, test = self.verdict(mutant, tests)
            with self.results.open("a") as out:
                out.write(json.dumps([mutant.file, mutant.number, mutant.line, mutant.change, verdict, test]) + "\n")
        return True

    def verdict(self, mutant: Mutant, tests: list[pytest.Item]) -> tuple[str, str]:
        """And the id of the test that noticed it; tests that are to go are asked first, and then all others."""
        if not self.going:
            return _forked(mutant, tests)
        noticed = _forked(mutant, [test for test in tests if test.nodeid.startswith(self.going)])
        if noticed[0] != "caught":
            return noticed
        verdict, test = _forked(mutant, [test for test in tests if not test.nodeid.startswith(self.going)])
        return (verdict, test) if verdict == "caught" else ("lost", noticed[1])


def _forked(mutant: Mutant, tests: list[pytest.Item]) -> tuple[str, str]:
    """The verdict on a mutant, and the id of the test that noticed it."""
    if not (tests := tests[:MOST_TESTS]):
        return "not run", ""
    ours, theirs = os.pipe()
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        put(mutant)
        for test, after in zip(tests, [*tests[1:], None], strict=True):
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=after)
            if test.session.testsfailed:
                os.write(theirs, test.nodeid.encode())
                test.session._setupstate.teardown_exact(None)
                os._exit(1)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as told:
        test_id = told.read()
    _, status = os.waitpid(child, 0)
    return ("survived" if status == 0 else "caught"), test_id or ("" if status == 0 else "(died or took too long)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("coverage", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--packages", nargs="+", default=["parsing", "store", "web"])
    parser.add_argument("--tests", nargs="+", help="folders and files; those of the packages where nothing is said")
    parser.add_argument("--without", type=Path)
    chosen = parser.parse_args()
    contexts = Contexts(chosen.coverage)
    going = tuple(chosen.without.read_text().splitlines()) if chosen.without else ()
    every = list(every_mutant(chosen.packages))
    if going:
        lines_of = {file: contexts.hardly_run_without(file, going) for file in {mutant.file for mutant in every}}
        every = [mutant for mutant in every if mutant.line in lines_of[mutant.file]]
    mutants = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    lines = chosen.results.read_text().splitlines() if chosen.results.exists() else []
    done = {tuple(json.loads(line)[:2]) for line in lines}
    mutants = [mutant for mutant in mutants if (mutant.file, mutant.number) not in done]
    tests = chosen.tests or [f"tests/{package}" for package in chosen.packages]
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not browser and not postgres", *tests]
    pytest.main(options, plugins=[Plugin(mutants, contexts, chosen.results, going)])


if __name__ == "__main__":
    main()
