"""Entries of a thread as parts to show: what was said, and one small function for each tool worth it, with a decent view for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.clients.claude_code import meaning as m
from hansard.lazy_regex import lazy_compile
from hansard.model.display import CallFacts, Checklist, Code, Console, Diff, Facts, Part, Plain, Prose

if TYPE_CHECKING:
    from hansard.model.threads import Entry, ToolCall

_NUMBER = lazy_compile(r"^[^\S\n]*(\d+)[→\t]", re.MULTILINE)
_USUAL_NUMBER = lazy_compile(r"\n *[0-9]+[→\t]")  # found by its newline, five times as fast as by ^
_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")
_SUBJECT = 2000
_DIFF_LINES = 2_000  # of all edits of a call: difflib takes time with the square of them
_JSON_LIMIT = 1 << 20

USER = frozenset({"prompt", "command", "bash"})
ASSISTANT = frozenset({"reply", "thinking", "tool"})
_OPEN, _CLOSE = "<summary>", "</summary>"
_NOTICE = 20_000  # characters
_any = msgspec.json.Decoder().decode

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

Given = Mapping[str, Any]


class View(NamedTuple):
    """How a call is shown."""

    title: str
    subject: str
    parts: tuple[Part, ...]
    results: tuple[Part, ...]


def view(call: ToolCall, cwd: str) -> View:
    """A call as it is to be shown; `cwd` shortens paths."""
    given: Given = call.input if isinstance(call.input, dict) else {}
    make = _VIEWS.get(call.tool)
    subject, parts, results = make(call, given) if make is not None else _generic(call, given)
    if call.is_error:
        results = (Console(output_of(call)),)
    return View(tool_name(call.tool), _relative(subject[:_SUBJECT], cwd), parts, results)


def tool_name(tool: str) -> str:
    """A tool's name; those of MCP servers as server: tool."""
    if tool.startswith("mcp__") and tool.count("__") >= 2:
        _, server, name = tool.split("__", 2)
        return f"{server}: {name}"
    return tool or "(no name)"


def output_of(call: ToolCall) -> str:
    """A call's result without what the client puts around it."""
    text = call.output or ""
    for tag in _ERROR_TAGS:
        text = text.replace(tag, "")
    return text.strip("\n")


_Shown = tuple[str, tuple[Part, ...], tuple[Part, ...]]


def _bash(call: ToolCall, given: Given) -> _Shown:
    command = _text(given, "command")
    about = _text(given, "description")
    parts: tuple[Part, ...] = (Code(command, "bash"),)
    if about:
        parts = (Plain(about), *parts)
    return command.strip().split("\n", 1)[0], parts, _console(call)


def _read(call: ToolCall, given: Given) -> _Shown:
    path = _text(given, "file_path")
    pairs = _pairs(given, "offset", "limit", "pages")
    return path, (Facts(pairs),) if pairs else (), _numbered(output_of(call), path)


def _numbered(text: str, path: str) -> tuple[Part, ...]:
    """The content of a file that a tool gave with the number of each line before it."""
    if not text:
        return ()
    text = without_reminders(text)
    first = _NUMBER.match(text)
    if first is None:
        return (Console(text),)
    ends = text.count("\n")
    bare, count = _USUAL_NUMBER.subn("\n", "\n" + text)
    bare = bare[1:]
    rest = ""
    if count <= ends:
        bare, count = _NUMBER.subn("", text)
    if count <= ends:  # what follows the first line without a number is something else
        lines = text.split("\n")
        count = next(place for place, line in enumerate(lines) if not _NUMBER.match(line))
        bare = _NUMBER.sub("", "\n".join(lines[:count]))
        rest = "\n".join(lines[count:]).strip("\n")
    code = Code(bare, language_of(path), path, int(first[1][:9]))
    return (code, Plain(rest)) if rest else (code,)


def without_reminders(text: str) -> str:
    """A result without what the client added for the model."""
    return m.split_reminders(text)[0]


def _write(call: ToolCall, given: Given) -> _Shown:
    path = _text(given, "file_path")
    if call.patch:
        return path, (), (Diff(call.patch, path),)
    return path, (Code(_text(given, "content"), language_of(path), path, 1),), ()


def _edit(call: ToolCall, given: Given) -> _Shown:
    path = _text(given, "file_path")
    edits = given.get("edits")
    steps = [item for item in edits if isinstance(item, dict)] if isinstance(edits, list) else [given]
    patch = call.patch or "\n".join(_differences(steps))
    facts = (Facts((("replace all", "yes"),)),) if given.get("replace_all") is True else ()
    return path, facts, (Diff(patch, path),) if patch else ()


def _differences(steps: Iterable[Given]) -> Iterator[str]:
    """What each step changes; where there is too much to compare, all of the old and all of the new lines."""
    from difflib import unified_diff

    left = _DIFF_LINES
    for step in steps:
        before, after = _text(step, "old_string").split("\n"), _text(step, "new_string").split("\n")
        left -= len(before) + len(after)
        if left >= 0:
            yield from list(unified_diff(before, after, lineterm="", n=3))[2:]
        else:
            yield f"@@ -1,{len(before)} +1,{len(after)} @@"
            yield from ("-" + line for line in before)
            yield from ("+" + line for line in after)


def _notebook(call: ToolCall, given: Given) -> _Shown:
    path = _text(given, "notebook_path")
    language = "markdown" if given.get("cell_type") == "markdown" else "python"
    source = _text(given, "new_source")
    pairs = _pairs(given, "cell_id", "cell_number", "cell_type", "edit_mode")
    parts: list[Part] = [Facts(pairs)] if pairs else []
    if source:
        parts.append(Code(source, language, path))
    return path, tuple(parts), _console(call)


def _look(call: ToolCall, given: Given) -> _Shown:
    pairs = _pairs(given, *(name for name in given if name != "pattern"))
    subject = _text(given, "pattern") or _text(given, "path")
    return subject, (Facts(pairs),) if pairs else (), _console(call)


def _agent(call: ToolCall, given: Given) -> _Shown:
    kind = _text(given, "subagent_type")
    about = _text(given, "description")
    pairs = _pairs(given, "subagent_type", "model", "run_in_background", "isolation", "resume")
    parts: tuple[Part, ...] = (*((Facts(pairs),) if pairs else ()), Plain(_text(given, "prompt")))
    # What the client writes for the model says nothing to people: ids, paths, and that these are internal.
    started = output_of(call).startswith("Async agent launched")
    results = (Plain("Started in the background."),) if started else _prose(call)
    return f"{kind}: {about}" if kind and about else about or kind, parts, results


def _todos(_call: ToolCall, given: Given) -> _Shown:
    todos = given.get("todos")
    items = tuple(
        (str(item.get("status", "")), str(item.get("content") or item.get("activeForm") or ""))
        for item in (todos if isinstance(todos, list) else ())
        if isinstance(item, dict)
    )
    done = sum(status == "completed" for status, _ in items)
    return f"{done} of {len(items)} done", (Checklist(items),), ()


def _task(call: ToolCall, given: Given) -> _Shown:
    number = _text(given, "taskId")
    subject = " ".join(filter(None, (f"#{number}" if number else "", _text(given, "subject"), _text(given, "status"))))
    pairs = _pairs(given, *(name for name in given if name not in ("taskId", "subject", "description")))
    parts: list[Part] = [Facts(pairs)] if pairs else []
    if about := _text(given, "description"):
        parts.append(Prose(about))
    return subject, tuple(parts), _console(call)


def _fetch(call: ToolCall, given: Given) -> _Shown:
    prompt = _text(given, "prompt")
    return _text(given, "url"), (Plain(prompt),) if prompt else (), _prose(call)


def _search(call: ToolCall, given: Given) -> _Shown:
    pairs = _pairs(given, *(name for name in given if name != "query"))
    return _text(given, "query"), (Facts(pairs),) if pairs else (), _prose(call)


def _ask(call: ToolCall, given: Given) -> _Shown:
    asked = given.get("questions")
    questions = [item for item in (asked if isinstance(asked, list) else [given]) if isinstance(item, dict)]
    answer = output_of(call)
    parts: list[Part] = []
    for question in questions:
        parts.append(Plain(_text(question, "question")))
        options = question.get("options")
        labels = [
            (str(option.get("label", "")), str(option.get("description", "")))
            for option in (options if isinstance(options, list) else ())
            if isinstance(option, dict)
        ]
        parts.append(
            Checklist(
                tuple(
                    ("chosen" if label and label in answer else "open", f"{label}: {about}" if about else label)
                    for label, about in labels
                )
            )
        )
    first = _text(questions[0], "question") if questions else ""
    return first, tuple(parts), (Plain(answer),) if answer else ()


def _plan(call: ToolCall, given: Given) -> _Shown:
    plan = _text(given, "plan")
    answer = output_of(call)
    if plan.strip():
        answer = answer.replace(plan.strip(), "").strip()  # an approval says the whole plan again
    results = (Prose(answer),) if answer else ()
    return plan.strip().split("\n", 1)[0].lstrip("# "), (Prose(plan),) if plan else (), results


def _generic(call: ToolCall, given: Given) -> _Shown:
    subject = next((text for name in _TELLING if (text := _text(given, name).strip())), "")
    subject = subject or next((value for value in given.values() if isinstance(value, str) and value.strip()), "")
    parts: tuple[Part, ...] = ()
    if given and all(
        isinstance(value, (str, int, float, bool, type(None))) and len(str(value)) < 200 for value in given.values()
    ):
        parts = (Facts(tuple((str(name), str(value)) for name, value in given.items())),)
    elif call.input not in (None, {}):
        parts = (Code(_json(call.input), "json"),)
    return subject.split("\n", 1)[0], parts, _structured(call)


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


def _structured(call: ToolCall) -> tuple[Part, ...]:
    """A result that may be JSON."""
    text = output_of(call)
    if text[:1] in "{[" and text[:1] and len(text) < _JSON_LIMIT:
        try:
            return (Code(json.dumps(json.loads(text), indent=2, ensure_ascii=False), "json"),)
        except (ValueError, RecursionError):
            pass
    return (Console(text),) if text else ()


def _console(call: ToolCall) -> tuple[Part, ...]:
    text = without_reminders(output_of(call))
    return (Console(text),) if text else ()


def _prose(call: ToolCall) -> tuple[Part, ...]:
    text = output_of(call)
    return (Prose(text),) if text else ()


def _text(given: Given, name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else "" if value is None or isinstance(value, (dict, list)) else str(value)


def _pairs(given: Given, *names: str) -> tuple[tuple[str, str], ...]:
    found = []
    for name in names:
        value = given.get(name)
        if value is None or value == "":
            continue
        found.append((str(name), value if isinstance(value, str) else _json(value)))
    return tuple(found)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, indent=2 if isinstance(value, (dict, list)) and value else None, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deeply to show)"


def _relative(text: str, cwd: str) -> str:
    base = cwd.rstrip("/\\")
    return text[len(base) + 1 :] if base and text.startswith((base + "/", base + "\\")) else text


_VIEWS: dict[str, Callable[[ToolCall, Given], _Shown]] = {
    "Bash": _bash,
    "Read": _read,
    "Write": _write,
    "Edit": _edit,
    "MultiEdit": _edit,
    "NotebookEdit": _notebook,
    "Grep": _look,
    "Glob": _look,
    "LS": _look,
    "Task": _agent,
    "Agent": _agent,
    "TodoWrite": _todos,
    "TaskCreate": _task,
    "TaskUpdate": _task,
    "TaskGet": _task,
    "WebFetch": _fetch,
    "WebSearch": _search,
    "ToolSearch": _search,
    "AskUserQuestion": _ask,
    "ExitPlanMode": _plan,
    "exit_plan_mode": _plan,
}


# -- what was said


def said(entry: Entry) -> tuple[Part, ...]:
    """What was said, as parts."""
    text = entry.text
    if not text:
        return ()
    if entry.kind in ("reply", "thinking", "summary"):
        return (Prose(text),)
    if entry.kind == "bash":
        return (Code(text, "bash"),)
    if entry.kind == "output":
        return (Console(text),)
    return (Plain(notice(text) if entry.kind == "notification" else text),)


def notice(text: str) -> str:
    """What a task's notification says, without the tags around it."""
    start = text.find(_OPEN, 0, _NOTICE)
    end = text.find(_CLOSE, start, _NOTICE)
    is_notice = 0 <= start < end and text.lstrip().startswith("<task-notification>")
    return text[start + len(_OPEN) : end].strip() if is_notice else text


def facts_of(call: ToolCall) -> CallFacts:
    """What is short to say about a call."""
    return CallFacts(
        change=(call.added, call.removed) if call.change is not None else None,
        duration_ms=call.duration_ms,
        outcome="failed" if call.is_error else "no result" if call.output is None else "",
        is_persisted=call.persisted,
    )


def language_of(path: str) -> str:
    """The language of a file, empty where its name does not tell."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_ENDING.get(name.rsplit(".", 1)[-1], "") if "." in name else ""
