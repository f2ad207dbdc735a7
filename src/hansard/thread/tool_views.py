"""Entries of a thread as items for display: messages, calls by the inputs that their client describes, pictures, threads of subagents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.tools import (
    Ask,
    CellEdit,
    Edit,
    Fetch,
    Patch,
    Plan,
    Query,
    Read,
    Search,
    Shell,
    Spawn,
    Task,
    Todos,
    ToolUse,
    Write,
    json_of,
    text_of,
)
from hansard.errors import NotFound
from hansard.lazy_regex import lazy_compile
from hansard.model.display import (
    CallFacts,
    Checklist,
    Code,
    Console,
    Diff,
    DisplayThread,
    Facts,
    Item,
    Part,
    Picture,
    Plain,
    Prose,
)
from hansard.model.tools import mcp_parts

if TYPE_CHECKING:
    from hansard.clients.protocol import Client
    from hansard.model.threads import Entry, Fork, ToolCall
    from hansard.thread.reader import ThreadReader
    from hansard.thread.store import SessionContext
    from hansard.thread.thread import Thread

_NUMBER = lazy_compile(r"^[^\S\n]*(\d+)[→\t]", re.MULTILINE)
_USUAL_NUMBER = lazy_compile(r"\n *[0-9]+[→\t]")  # found by its newline, five times as fast as by ^
_LEADING_CD = lazy_compile(r"""(?:cd\s++(?:"[^"\n]*+"|'[^'\n]*+'|(?:\\.|[^\s;&|<>"'\\])++)\s*+&&\s*+)++(?=\S)""")
_SUBJECT = 2000
_DIFF_LINES = 2_000  # of all edits of a call: difflib takes time with the square of them
_JSON_LIMIT = 1 << 20

USER = frozenset({"prompt", "command", "bash"})
ASSISTANT = frozenset({"reply", "thinking", "tool"})

# The short names that Pygments knows, by the names and the endings of files.
_BY_NAME = {
    "dockerfile": "docker",
    "makefile": "make",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "justfile": "make",
    ".bashrc": "bash",
    ".zshrc": "bash",
    ".gitconfig": "ini",
}
_BY_ENDING = {
    "astro": "html", "bash": "bash", "bat": "bat", "c": "c", "cc": "cpp", "cfg": "ini", "clj": "clojure", "cmake": "cmake",
    "conf": "ini", "cpp": "cpp", "cs": "csharp", "css": "css", "csv": "text", "cts": "typescript", "cxx": "cpp", "d": "d",
    "dart": "dart", "diff": "diff", "dockerfile": "docker", "ejs": "html", "ex": "elixir", "exs": "elixir", "elm": "elm",
    "env": "bash", "erl": "erlang", "fish": "fish", "fs": "fsharp", "go": "go", "gradle": "groovy", "graphql": "graphql",
    "groovy": "groovy", "h": "c", "hbs": "html", "hcl": "terraform", "hpp": "cpp", "hs": "haskell", "htm": "html",
    "html": "html", "ini": "ini", "ipynb": "json", "java": "java", "jl": "julia", "js": "javascript", "json": "json",
    "json5": "json", "jsonc": "json", "jsonl": "json", "jsx": "jsx", "kt": "kotlin", "kts": "kotlin", "less": "less",
    "lock": "text", "lua": "lua", "m": "objective-c", "md": "markdown", "mdx": "markdown", "mjs": "javascript",
    "ml": "ocaml", "mts": "typescript", "nim": "nim", "nix": "nix", "patch": "diff", "php": "php", "pl": "perl",
    "plist": "xml", "properties": "properties", "proto": "protobuf", "ps1": "powershell", "py": "python",
    "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "rst": "rst", "sass": "sass", "scala": "scala", "scss": "scss",
    "sh": "bash", "sol": "solidity", "sql": "sql", "svelte": "html", "svg": "xml", "swift": "swift", "tex": "latex",
    "tf": "terraform", "toml": "toml", "ts": "typescript", "tsx": "tsx", "txt": "text", "vb": "vbnet", "vue": "html",
    "wasm": "text", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "bash",
}  # fmt: skip
LANGUAGES = frozenset((*_BY_NAME.values(), *_BY_ENDING.values()))


class View(Struct, frozen=True):
    """How a call is shown."""

    title: str
    subject: str
    parts: tuple[Part, ...]
    results: tuple[Part, ...]


def view(call: ToolCall, cwd: str) -> View:
    """The view of a call; `cwd` shortens paths."""
    use = client_of(call.client).tool_use(call.tool, call.input, call.output or "")
    subject, parts, results = _shown(call, use)
    if call.is_error:
        results = (Console(use.output),)
    return View(tool_name(call.tool), _relative(subject[:_SUBJECT], cwd), parts, results)


def tool_name(tool: str) -> str:
    """A tool's display name; those of MCP servers as server: tool."""
    parts = mcp_parts(tool)
    return ": ".join(parts) if parts is not None else tool or "(no name)"


_Shown = tuple[str, tuple[Part, ...], tuple[Part, ...]]


def _shown(call: ToolCall, use: ToolUse) -> _Shown:  # noqa: PLR0911 - one for each input
    match use.input:
        case Shell() as given:
            return _shell(given, use)
        case Read() as given:
            return given.path, _facts(given.facts), _numbered(use, given.path)
        case Write() as given:
            return _write(given, call.patch)
        case Edit() as given:
            return _edit(given, call.patch)
        case Patch() as given:
            return _patch(given, call.patch)
        case CellEdit() as given:
            return _cell(given, use)
        case Search() as given:
            return given.pattern, _facts(given.facts), _console(use)
        case Query() as given:
            return given.query, _facts(given.facts), _prose(use)
        case Fetch() as given:
            return given.url, (Plain(given.prompt),) if given.prompt else (), _prose(use)
        case Spawn() as given:
            return _spawn(given, use)
        case Plan() as given:
            return _plan(given, use)
        case Todos() as given:
            done = sum(status == "completed" for status, _ in given.items)
            return f"{done} of {len(given.items)} done", (Checklist(tuple(given.items)),), ()
        case Task() as given:
            return _task(given, use)
        case Ask() as given:
            return _ask(given, use)
        case None:
            return _generic(call.input, use)


def _shell(given: Shell, use: ToolUse) -> _Shown:
    parts: tuple[Part, ...] = (Code(given.command, "bash"),)
    if given.description:
        parts = (Plain(given.description), *parts)
    return _command(given.command).split("\n", 1)[0], parts, _console(use)


def _command(text: str) -> str:
    """A shell command without the leading `cd` that agents add."""
    text = text.strip()
    leading = _LEADING_CD.match(text)
    return text[leading.end() :] if leading else text


def _numbered(use: ToolUse, path: str) -> tuple[Part, ...]:
    """The content of a file that a tool returned with line numbers."""
    if not use.output:
        return ()
    text = use.bare_output
    first = _NUMBER.match(text)
    if first is None:
        return (Console(text),)
    ends = text.count("\n")
    bare, count = _USUAL_NUMBER.subn("\n", "\n" + text)
    bare = bare[1:]
    rest = ""
    if count <= ends:
        bare, count = _NUMBER.subn("", text)
    if count <= ends:  # the text after the first line without a number is something else
        lines = text.split("\n")
        count = next(place for place, line in enumerate(lines) if not _NUMBER.match(line))
        bare = _NUMBER.sub("", "\n".join(lines[:count]))
        rest = "\n".join(lines[count:]).strip("\n")
    code = Code(bare, language_of(path), path, int(first[1][:9]))
    return (code, Plain(rest)) if rest else (code,)


def _write(given: Write, patch: str | None) -> _Shown:
    path = given.path
    if patch:
        return path, (), (Diff(patch, path),)
    return path, (Code(given.content, language_of(path), path, 1),), ()


def _edit(given: Edit, patch: str | None) -> _Shown:
    patch = patch or "\n".join(_differences(given.edits))
    return given.path, _facts(given.facts), (Diff(patch, given.path),) if patch else ()


def _patch(given: Patch, patch: str | None) -> _Shown:
    if len(given.files) == 1:
        (file,) = given.files
        return _write(file, patch) if isinstance(file, Write) else _edit(file, patch)
    results: list[Part] = []
    for file in given.files:
        _, facts, changed = _write(file, None) if isinstance(file, Write) else _edit(file, None)
        results += (Plain(file.path), *facts, *changed)
    return ", ".join(file.path for file in given.files), (), tuple(results)


def _differences(edits: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The diff of each edit; if there is too much to compare, all old and all new lines."""
    from difflib import unified_diff

    left = _DIFF_LINES
    for old, new in edits:
        before, after = old.split("\n"), new.split("\n")
        left -= len(before) + len(after)
        if left >= 0:
            yield from list(unified_diff(before, after, lineterm="", n=3))[2:]
        else:
            yield f"@@ -1,{len(before)} +1,{len(after)} @@"
            yield from ("-" + line for line in before)
            yield from ("+" + line for line in after)


def _cell(given: CellEdit, use: ToolUse) -> _Shown:
    parts = _facts(given.facts)
    if given.source:
        parts += (Code(given.source, given.language, given.path),)
    return given.path, parts, _console(use)


def _spawn(given: Spawn, use: ToolUse) -> _Shown:
    subject = ": ".join(filter(None, (given.agent_type, given.description)))
    results = (Plain("Started in the background."),) if given.is_started else _prose(use)
    return subject, (*_facts(given.facts), Plain(given.prompt)), results


def _plan(given: Plan, use: ToolUse) -> _Shown:
    plan, answer = given.plan.strip(), use.output
    if plan:
        answer = answer.replace(plan, "").strip()  # an approval says the whole plan again
    results = (Prose(answer),) if answer else ()
    return plan.split("\n", 1)[0].lstrip("# "), (Prose(given.plan),) if given.plan else (), results


def _task(given: Task, use: ToolUse) -> _Shown:
    number = f"#{given.number}" if given.number else ""
    parts = _facts(given.facts)
    if given.description:
        parts += (Prose(given.description),)
    return " ".join(filter(None, (number, given.subject, given.status))), parts, _console(use)


def _ask(given: Ask, use: ToolUse) -> _Shown:
    answer = use.output
    parts: list[Part] = []
    for question in given.questions:
        parts.append(Plain(question.question))
        parts.append(
            Checklist(
                tuple(
                    ("chosen" if label and label in answer else "open", f"{label}: {about}" if about else label)
                    for label, about in question.options
                )
            )
        )
    first = given.questions[0].question if given.questions else ""
    return first, tuple(parts), (Plain(answer),) if answer else ()


def _generic(given: Any, use: ToolUse) -> _Shown:
    """A tool known only by the names of its parameters."""
    values = given if isinstance(given, dict) else {}
    subject = next((text for name in _TELLING if (text := text_of(values, name).strip())), "")
    subject = subject or next((value for value in values.values() if isinstance(value, str) and value.strip()), "")
    parts: tuple[Part, ...] = ()
    if values and all(
        isinstance(value, (str, int, float, bool, type(None))) and len(str(value)) < 200 for value in values.values()
    ):
        parts = (Facts(tuple((str(name), str(value)) for name, value in values.items())),)
    elif given not in (None, {}):
        parts = (Code(json_of(given), "json"),)
    return subject.split("\n", 1)[0], parts, _structured(use.output)


_TELLING = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "query",
    "pattern",
    "url",
    "description",
    "subject",
    "skill",
    "name",
    "id",
)


def _structured(text: str) -> tuple[Part, ...]:
    if text[:1] in "{[" and text[:1] and len(text) < _JSON_LIMIT:
        try:
            return (Code(json.dumps(json.loads(text), indent=2, ensure_ascii=False), "json"),)
        except (ValueError, RecursionError):
            pass
    return (Console(text),) if text else ()


def _console(use: ToolUse) -> tuple[Part, ...]:
    return (Console(use.bare_output),) if use.bare_output else ()


def _prose(use: ToolUse) -> tuple[Part, ...]:
    return (Prose(use.output),) if use.output else ()


def _facts(pairs: tuple[tuple[str, str], ...]) -> tuple[Part, ...]:
    return (Facts(pairs),) if pairs else ()


def _relative(text: str, cwd: str) -> str:
    base = cwd.rstrip("/\\")
    return text[len(base) + 1 :] if base and text.startswith((base + "/", base + "\\")) else text


# -- what was said


def said(entry: Entry, client: Client) -> tuple[Part, ...]:
    text = entry.text
    if not text:
        return ()
    if entry.kind in ("reply", "thinking", "summary"):
        return (Prose(text),)
    if entry.kind == "bash":
        return (Code(text, "bash"),)
    if entry.kind == "output":
        return (Console(text),)
    return (Plain(client.notice(text) if entry.kind == "notification" else text),)


def facts_of(call: ToolCall) -> CallFacts:
    """What is short to say about a call."""
    return CallFacts(
        change=(call.added, call.removed) if call.change is not None else None,
        duration_ms=call.duration_ms,
        outcome="failed" if call.is_error else "no result" if call.output is None else "",
        is_persisted=call.persisted,
        kind=client_of(call.client).tool_kind(call.tool),
    )


def language_of(path: str) -> str:
    """The language of a file by its name, or an empty string."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_ENDING.get(name.rsplit(".", 1)[-1], "") if "." in name else ""


# -- entries as items

_DEEPEST = 30  # levels of nested subagents; deeper ones are shown separately


class ItemBuilder:
    """Makes the items of one thread."""

    def __init__(self, thread: Thread, context: SessionContext, source: ThreadReader, agent_id: str | None) -> None:
        self._thread = thread
        self._context = context
        self._source = source
        self._agent_id = agent_id
        self.begin()

    def begin(self) -> None:
        """Number the items of an offset from 0 again."""
        self._last = (-1, 0)  # offset and number of the previous item

    @cached_property
    def _forks(self) -> dict[str, Fork]:
        return {fork.uuids[0]: fork for fork in self._thread.forks}

    def item(self, entry: Entry) -> Item:
        """An entry for display."""
        context = self._context
        title, subject, facts = "", "", CallFacts()
        parts: tuple[Part, ...]
        results: tuple[Part, ...] = ()
        thread = None
        call = entry.tool
        if call is not None:
            shown = view(call, self._thread.session.cwd)
            title, subject, parts, results = shown.title, shown.subject, shown.parts, shown.results
            facts = facts_of(call)
            results += self.pictures(entry)
            if call.agent_id is not None:
                thread = self._inside(call.agent_id) if context.subagents else self._named(call.agent_id)
        else:
            parts = said(entry, self._source.client)
            parts += self.pictures(entry)
        fork = self._forks.get(entry.uuid or "")
        return Item(
            anchor=self._anchor(entry.offset),
            kind=entry.kind,
            who="user" if entry.kind in USER else "assistant" if entry.kind in ASSISTANT else "client",
            at=entry.at,
            title=title,
            subject=subject,
            facts=facts,
            parts=parts,
            results=results,
            is_error=entry.kind == "error" or (call is not None and call.is_error),
            branch=entry.branch,
            forks=fork.branches[1:] if fork is not None else (),
            model=entry.model,
            queued=entry.queued,
            uuid=entry.uuid,
            transcript=entry.transcript,
            offset=entry.offset,
            length=entry.length,
            thread=thread,
        )

    def _inside(self, agent_id: str) -> DisplayThread | None:
        """The subagent thread to show under its call; None if it is missing or already being shown."""
        context = self._context
        if agent_id in context.open or len(context.open) >= _DEEPEST:
            return None
        context.open.add(agent_id)
        context.shown.add(agent_id)
        try:
            return self._thread.of(agent_id).whole()
        except NotFound:
            return None
        finally:
            context.open.discard(agent_id)

    def _named(self, agent_id: str) -> DisplayThread | None:
        """A subagent without its thread."""
        agent = next((agent for agent in self._thread.agents if agent.agent_id == agent_id), None)
        return DisplayThread(agent, (), {}) if agent is not None else None

    def _anchor(self, offset: int) -> str:
        before, number = self._last
        number = number + 1 if offset == before else 0
        self._last = (offset, number)
        place = f"{offset}.{number}" if number else str(offset)
        return f"{self._agent_id}-{place}" if self._agent_id else place

    def pictures(self, entry: Entry) -> tuple[Picture, ...]:
        """The images and documents of an entry: of its message, or of a call's result."""
        call = entry.tool
        if call is None:
            return self._pictures(entry.offset, None, entry.images) if entry.images else ()
        if call.has_image and call.result_offset is not None:
            return self._pictures(call.result_offset, call.tool_use_id, 1)
        return ()

    def _pictures(self, offset: int, tool_use_id: str | None, count: int) -> tuple[Picture, ...]:
        """The images and documents of a line, or of one result in it, optionally without their data."""
        if not self._context.pictures:
            return (Picture("", ""),) * count
        source = self._source
        if source.too_long(offset) is not None:
            return ()
        lines = source.client.lines(self._context.lines.read(self._thread.transcript, offset), offset)
        line = next((line for _, line in lines), lines.rest)
        return tuple(Picture(*found) for found in source.client.pictures(line, tool_use_id))
