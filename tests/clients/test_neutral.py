"""Facts about a client are known in its folder only, so that all clients get the same treatment."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import msgspec

import hansard
from hansard.clients import BUILT_IN, CALLS_HAVE_MESSAGES, CLAUDE_CODE, client_of
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
# Names of clients that are also words for something else.
ORDINARY = {"amp", "continue", "cursor"}
NAMED = re.compile(
    rf"(?<![\w-])(?:{'|'.join({CLAUDE_CODE, *BUILT_IN} - ORDINARY)})(?![\w-])"
    r"|\b(?:srv)?toolu_|\.(?:claude|codex|cursor|gemini|qwen|copilot|factory)\b"
)
NAMING = {
    "clients/__init__.py": "where each client's histories are",
    "clients/elsewhere.py": "where histories are that are not read",
    "clients/programs.py": "the command lines and files that `audit` knows",
    "audit/rules/table.py": "examples in the description of a rule",
    "config/__init__.py": "examples, and where Claude Code keeps its history by default",
    "export/formats.py": "ATIF, a format before it is a client",
    "git/attribution.py": "names of agents in commit messages",
    "git/notes.py": "what git-ai calls Claude Code",
    "lake/histories.py": "an example in an error",
    "ledger/reconcile/peers.py": "what other tools call the clients",
    "ledger/reconcile/run.py": "what other tools count for Claude Code",
    "api/custody.py": "whose permission rules `allow` proposes by default",
    "mcp/resources.py": "a client of the Model Context Protocol, with a quirk",
    "model/requests.py": "examples in descriptions",
    "model/sessions.py": "the client that is not mentioned for its sessions",
    "model/store_requests.py": "a default",
    "model/tools.py": "the name itself",
    "query/language/fields.py": "an example of a field",
    "query/restoring.py": "resuming in Claude Code",
    "record/files.py": "the client of roots from before there were others",
    "record/schema.py": "the same",
    "render/format.py": "the client that is not mentioned for its sessions",
    "render/otlp.py": "names of models",
    "sql/session_views.py": "an example in the description of a column",
}
"""Modules outside of the clients' folders that name a client, its directory or the ids of its calls, and why."""


def claude_words() -> tuple[set[str], set[str]]:
    structs = [kind for _, kind in inspect.getmembers(wire, inspect.isclass) if issubclass(kind, msgspec.Struct)]
    names = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    names |= wire.RARE_FIELDS
    return set(TOOLS) - WORDS, {name for name in names if re.search("[a-z][A-Z]", name)}


@cache
def literals(path: Path) -> tuple[str, ...]:
    """The texts in the code of a module, without those that only document it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    values = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in prose]
    texts = (value.decode("latin-1") if isinstance(value, bytes) else value for value in values)
    return tuple(text for text in texts if isinstance(text, str))


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


def test_who_names_a_client() -> None:
    """A fact about a client is in its folder or in a table of `clients`; commands name clients to people."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(("cli/", "move.py")) or re.match(r"clients/\w+/", name):
            continue
        named = any(map(NAMED.search, literals(path)))
        if named or re.search(r"\bCLAUDE_CODE\b", path.read_text("utf-8")):
            found.add(name)
    assert found == set(NAMING)


def test_the_table_for_sql_has_the_trait() -> None:
    names = (CLAUDE_CODE, *BUILT_IN)
    assert {name for name in names if client_of(name).calls_have_messages} == CALLS_HAVE_MESSAGES
