"""What Claude Code calls its tools and fields is known in its own folder only, so that other clients get the same treatment."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

import hansard
from hansard.clients import BUILT_IN
from hansard.clients.claude_code import wire
from hansard.clients.claude_code.tools import TOOLS

SOURCE = Path(hansard.__file__).parent
# Other tools that read Claude Code's files are compared with it, and these commands change that client's own files.
CLAUDE_ONLY = (
    "clients/claude_code/",
    "move.py",
    "cli/plugin.py",
    "cli/hook/",
    "cli/statusline/",
    "cli/commands/resume.py",
    "query/resuming.py",
    "ledger/reconcile/",
)
EXCEPTIONS = {
    "mcp/stdio.py": {"requestId"},  # the Model Context Protocol's own
    "render/format.py": {"Task"},  # a label: what a subagent was asked
    "web/pages/usage.py": {"Read"},  # the column of the price of cache reads
}
# Names of tools that are also words for something else: a subagent, and a kind of tool with a price of its own.
WORDS = {"Agent", "web_search"}


def claude_words() -> tuple[set[str], set[str]]:
    structs = [kind for _, kind in inspect.getmembers(wire, inspect.isclass) if issubclass(kind, msgspec.Struct)]
    names = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    names |= wire.RARE_FIELDS
    return set(TOOLS) - WORDS, {name for name in names if re.search("[a-z][A-Z]", name)}


def literals(path: Path) -> Iterator[str]:
    """The texts in the code of a module, without those that only document it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in prose:
            if isinstance(node.value, str):
                yield node.value
            elif isinstance(node.value, bytes):
                yield node.value.decode("latin-1")


def leaks(path: Path, tools: set[str], fields: set[str]) -> set[str]:
    found: set[str] = set()
    for text in literals(path):
        found |= ({text} | set(re.findall(r"'(\w+)'", text))) & tools
        found |= set(re.findall(r"\w+", text)) & fields
    return found


def test_no_name_of_claude_code_is_known_elsewhere() -> None:
    tools, fields = claude_words()
    assert {"Bash", "Task"} <= tools
    assert {"toolUseResult", "sessionId"} <= fields
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(CLAUDE_ONLY) or re.match(r"clients/\w+/", name):  # other clients' own names may be the same
            continue
        if words := leaks(path, tools, fields):
            found[name] = words
    assert found == EXCEPTIONS


def test_the_ledger_names_no_client() -> None:
    """What differs between clients is a trait of the protocol; only `reconcile` knows what other tools call them."""
    named = {
        (path.name, text)
        for path in (SOURCE / "ledger").glob("*.py")
        for text in literals(path)
        for client in ("claude-code", *BUILT_IN)
        if re.search(rf"(?<![\w-]){client}(?![\w-])", text)
    }
    assert named == set()
    assert not [path for path in (SOURCE / "ledger").glob("*.py") if "CLAUDE_CODE" in path.read_text("utf-8")]
