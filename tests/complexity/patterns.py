"""Every regular expression in the source, found by reading it: compiled at the top, in a function, or given to `re` in place."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import hansard

SOURCE = Path(hansard.__file__).parent
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_NAMES = frozenset({"re", "lazy_compile"})
_AT_START = frozenset({"match", "fullmatch"})


class Found(NamedTuple):
    """A pattern, and where it is written."""

    place: str  # module:line
    source: str  # the expression
    pattern: re.Pattern[Any] | None  # None: it is made of what only a caller knows
    at_start: bool  # it is only matched at the start of a text


def find_patterns() -> list[Found]:
    found: list[Found] = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(("hansard", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        text = path.read_text("utf-8")
        if "import re" not in text and "lazy_compile" not in text:
            continue  # without parsing it
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        if any(
            isinstance(node, ast.Import | ast.ImportFrom) and any(alias.name in _NAMES for alias in node.names)
            for node in nodes
        ):
            found += _in_module(name, tree, nodes)
    return found


def _in_module(name: str, tree: ast.Module, nodes: list[ast.AST]) -> list[Found]:
    module = importlib.import_module(name)
    known = {**vars(module), "re": re}
    return [
        Found(
            f"{name}:{node.lineno}", ast.unparse(node.args[0]), _pattern(node, known), _is_at_start(tree, nodes, node)
        )
        for node in nodes
        if isinstance(node, ast.Call) and _method(node)
    ]


def _method(call: ast.Call) -> str:
    """The function of `re` that a call is of; empty for any other call."""
    if isinstance(call.func, ast.Name):
        return "compile" if call.func.id == "lazy_compile" else ""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "re":
        return call.func.attr if call.func.attr in _CALLS else ""
    return ""


def _pattern(call: ast.Call, known: dict[str, Any]) -> re.Pattern[Any] | None:
    takes = {
        "compile": 1,
        "search": 2,
        "match": 2,
        "fullmatch": 2,
        "split": 3,
        "findall": 2,
        "finditer": 2,
        "sub": 4,
        "subn": 4,
    }
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    flags += call.args[takes[_method(call)] :][:1]
    try:
        source, given = (_value(argument, known) for argument in (call.args[0], *(flags or [ast.Constant(0)])))
    except NameError:
        return None
    return re.compile(source, given)


def _value(argument: ast.expr, known: dict[str, Any]) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(argument)), "", "eval")
    return eval(code, known)  # noqa: S307 - our own source


def _is_at_start(tree: ast.Module, nodes: list[ast.AST], call: ast.Call) -> bool:
    """Whether nothing but `match` and `fullmatch` are done with a pattern, as far as its module tells."""
    if _method(call) != "compile":
        return _method(call) in _AT_START
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.value is call:
            return node.attr in _AT_START
        if isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            uses = [
                use for use in nodes if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)
            ]
            attributes = [
                use
                for use in nodes
                if isinstance(use, ast.Attribute) and isinstance(use.value, ast.Name) and use.value.id == name
            ]
            is_ours = name.startswith("_") or node not in tree.body  # nobody else uses it
            return is_ours and len(uses) == len(attributes) and all(use.attr in _AT_START for use in attributes)
    return False
