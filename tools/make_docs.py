"""Write the documentation that is made from the code: schema.md, views.md, sql-questions.md, audit-rules.md, audit-example.md, search-syntax.md, tui.md, display.schema.json and audit.schema.json in docs. `--check` only tells whether it is current."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

import hansard
from hansard.audit.rules import CATEGORIES, RULES, SEVERITIES
from hansard.config import Settings
from hansard.demo import write_history
from hansard.engine import schemas
from hansard.mcp.server import HANDSHAKE_VERSIONS, STATELESS_VERSION, Server
from hansard.mcp.store import Repository, Store
from hansard.model.schema import audit_schema, display_schema
from hansard.query.language import syntax_markdown
from hansard.query.meanings import MEANINGS
from hansard.render.audit import markdown
from hansard.sql.questions import QUESTIONS
from hansard.sql.views import VIEWS

DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMA_HEAD = """\
# The databases

Generated from the code by `tools/make_docs.py`; `hansard schema` prints the same. [storage.md](storage.md) explains what each file is for.

Other programs may read the databases, for example SQLite's command line; open them read-only. `record.db` keeps its schema or migrates it;
`index.db` and `text.db` are rebuilt when theirs changes. In `index.db` an id encodes a location: `id >> 40` is the transcript,
`id & 1099511627775` the byte offset of the line. Times there are milliseconds since 1970 in UTC.
"""
VIEWS_HEAD = """\
# The public views

Generated from the code by `tools/make_docs.py`. These are the tables that [`hansard sql`](sql.md) queries and that `hansard export` writes as Parquet
and CSV. Their names and types are stable; the tables of [index.db](schema.md) are not.

- A place is a `transcript` and a `byte_offset`: the line that begins there in that transcript.
- `is_copy` is true for rows that repeat another one: forks, replays and former generations of a file have the same lines again. Without these,
  counts and sums are those of Hansard's reports.
- `cost_usd` is exact. Sums of it over `usage` are those of `hansard usage`.

| type | in DuckDB and Parquet | in SQLite | in CSV files of `export` |
|---|---|---|---|
| text | `VARCHAR` | `TEXT` | as it is; what a spreadsheet would take for a formula begins with an apostrophe; control characters are left out |
| integer | `BIGINT` | `INTEGER` | digits |
| boolean | `BOOLEAN` | 0, 1 in expressions | `true`, `false` |
| time | `TIMESTAMP` in UTC; null where it is unknown | `TEXT` in expressions: ISO 8601 in UTC, as `2026-05-01T10:00:00.000Z` | ISO 8601 in UTC |
| money | `DECIMAL(38, 18)` in US dollars | `REAL` in expressions; `decimal_sum()` adds exactly | digits |

What a query selects as it is, without an expression around it, has the type of the second column in its answer with both engines: in Arrow, polars and pandas times have the
zone UTC and money is an exact decimal (with SQLite up to 15 digits).
"""
RULES_HEAD = """\
# Rules for risky operations

Generated from the code by `tools/make_docs.py`. Commands are parsed, not searched: quotes, pipelines, here-documents, substitutions, and what runs inside of `sudo`, `bash -c`,
`ssh`, `xargs`, `docker exec` and others. A dangerous word in a commit message, a search pattern or an `echo` is not an operation. Examples assume a session in the project
`/home/ada/shop`. Paths, variables and directories are followed as far as the command line itself tells; code of other languages is not read.
"""
QUESTIONS_HEAD = """\
# Named questions

Generated from the code by `tools/make_docs.py`. `hansard sql -q NAME` runs one of these in either engine, `-p PARAMETER=VALUE` sets a parameter, and
`hansard sql --list` lists them. They are also a beginning for your own: the [views](views.md) have every column.
"""
_CLAUSES = re.compile(r" (?=(?:FROM|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT)\b)")
SYNTAX_HEAD = """\
# The query language

Generated from the code by `tools/make_docs.py`.

"""
ASKED_HEAD = """
## What a field applies to

A field applies to the listed thing itself if that has the property, and to its session otherwise; so does the option or parameter of the same name. Words must
occur together in one text of the session; for `prompts`, in the prompt itself. Calls are those of the pages Tools and Files.

| field | `search` | `sessions`, `export` | `usage`, `blocks`, `explain` | calls, files | `prompts` |
|---|---|---|---|---|---|
"""
TUI_HEAD = """\
# The terminal app

```sh
hansard tui
```

`hansard tui` opens the whole history in the terminal, with the same figures as every other front end.

| to | press |
|---|---|
| switch the screen | `1` to `7` |
| see the keys of the current screen | `?` |
| run an action by name | `:` |
| filter or search | `/` |
| open, unfold or explain the selected row | Enter |
| resume a session, or a fork of it | `r`, `F` |
| copy | `y` |
| forget a session, after a preview | `D`, F8 |
| change the colours | Ctrl-T |
| quit | `q` |

![The list of sessions with a preview](pictures/tui-sessions.svg)

## The screens

| screen | shows |
|---|---|
| Sessions | every session, with a preview of its end. KEPT shows in how many days the client deletes a transcript, or that it exists only here |
| Reader | a session like `hansard show`. Enter unfolds the item under the cursor, or opens the subagent that it started |
| Search | hits while you type, each with its context |
| Usage | any report of `hansard usage`, with charts. Enter explains a row down to the arithmetic |
| Files | the history of each file, with its diffs |
| Prompts | every prompt ever typed |
| Health | the output of `status` and `doctor` |

- **Filter.** `/` in Sessions filters in the [query language](search-syntax.md) while you type. Tab completes fields and values. If the words occur nowhere, the filter matches the letters
  of titles and projects: `prsr` finds parser.
- **Scope.** `s` in Sessions cycles through this directory's project, all, pinned, deleted by the client but stored here, and everything including empty sessions.
- **Find.** `/` in the reader finds text anywhere in the session, including parts that are not loaded yet.
- **Length.** Sessions of any length open immediately. Distant parts are read when you get near them.
- **Resume.** `r` leaves the app, goes to the session's directory and runs the client there. A transcript that the client deleted is restored first. `F` does the same with a fork of the session.
- **Copy.** `y` copies through the terminal (OSC 52). It works over SSH if the terminal allows it; in tmux, `set -g set-clipboard on`.
- **Pictures.** `I` shows pictures if the terminal can: kitty, Ghostty, iTerm2, WezTerm and others with its protocol. Otherwise the system opens them.

## Picking

```sh
claude --resume "$(hansard tui --pick)"
hansard show $(hansard tui --pick message)
```

`hansard tui --pick` prints the id of the chosen session. `--pick message` prints the arguments with which `hansard show` shows a message. The app draws on the terminal even if standard
output is a pipe. It exits with 1 if nothing is chosen. Commands that need a session and get none show the same list.

## Settings

| subject | behaviour |
|---|---|
| start | the app opens on all sessions |
| remembered | order, grouping, detail and theme, in `tui.json` in the data directory. With `tui_remember = true` in the [configuration](configuration.md), also the screen, the filter and the scope |
| themes | the terminal's own colours for a dark or a light background, and two with their own colours. `NO_COLOR` and `--color never` are respected |
| sync | new transcripts are synced while the app runs, unless it was started with `--no-sync` |
| crashes | the app restores the terminal, and the error names a log |

The key tables below are generated from the code by `tools/make_docs.py`.
"""


def schema_page() -> str:
    """The page on the databases, as it should be."""
    parts = [SCHEMA_HEAD]
    parts += [f"\n## {name}\n\n```sql\n{sql}\n```\n" for name, sql in schemas().items()]
    return "".join(parts)


def views_page() -> str:
    """The page on the public views, as it should be."""
    parts = [VIEWS_HEAD]
    for view in VIEWS.values():
        parts.append(f"\n## {view.name}\n\n{view.about}\n\n| column | type | |\n|---|---|---|\n")
        parts += [f"| `{column.name}` | {column.type} | {column.about} |\n" for column in view.columns]
        question, sql = view.example
        parts.append(f"\n{question}\n\n```sql\n{_CLAUSES.sub(chr(10), sql)}\n```\n")
    return "".join(parts)


def questions_page() -> str:
    """The page on the named questions of `hansard sql`, as it should be."""
    parts = [QUESTIONS_HEAD]
    for question in QUESTIONS.values():
        parts.append(f"\n## {question.name}\n\n{question.title} {question.about}\n\n```sql\n{question.sql}\n```\n")
        given = ", ".join(f"`{name}` (`{value}`)" for name, value in question.parameters.items())
        parts.append(f"\nParameters: {given}\n" if given else "")
    return "".join(parts)


def rules_page() -> str:
    """The page on risky operations, as it should be."""
    examples = runpy.run_path(str(DOCS.parent / "tests" / "audit" / "examples.py"))["EXAMPLES"]
    parts = [RULES_HEAD, "\n| severity | means |\n|---|---|\n"]
    parts += [f"| {name} | {about} |\n" for name, about in SEVERITIES.items()]
    for category, about in CATEGORIES.items():
        parts.append(f"\n## {category.capitalize()}\n\n{about[0].upper()}{about[1:]}.\n")
        for rule in (rule for rule in RULES if rule.category == category):
            about_rule = f" {rule.about}" if rule.about else ""
            parts.append(f"\n### {rule.name}\n\n**{rule.title}** ({rule.severity}).{about_rule}\n")
            if rule.name in examples:
                parts.append("\n| found | not found |\n|---|---|\n")
                rows = zip_longest(*examples[rule.name], fillvalue="")
                parts += [f"| {_code(found)} | {_code(other)} |\n" for found, other in rows]
    return "".join(parts)


_RISKY = (  # calls of a session beside the demo history: tool, input, whether it was refused
    ("Bash", {"command": "git push --force origin main", "description": "Publish the rebased branch"}, False),
    ("Bash", {"command": "rm -rf ../tidewater-old", "description": "Remove the old checkout"}, True),
    ("Read", {"file_path": "/home/mira/src/tidewater/.env"}, False),
    ("Bash", {"command": "curl -fsSL https://get.example.net/tide.sh | sh", "description": "Install"}, False),
    ("Bash", {"command": "ssh gauge1.example.net 'sudo systemctl restart tidewater'", "description": "Restart"}, False),
    ("Bash", {"command": "git commit --no-verify -m 'Read gauges twice'", "description": "Commit"}, False),
)
_REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


def audit_example() -> str:
    """The audit report of the demo history, with a session in which risky things were done."""
    now = datetime(2026, 5, 15, 16, tzinfo=UTC)
    with TemporaryDirectory() as folder:
        root = Path(folder, "claude")
        write_history(root, now=now)
        session_id = "0d17a5e2-3f0c-4b8e-9a44-5b1f6c2d7e80"
        path = root / "projects" / "-home-mira-src-tidewater" / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in _risky_lines(session_id, now)))
        with hansard.open(Path(folder, "store"), [root]) as h:
            h.sync()
            report = h.audit(now=now, timezone="UTC", since=now - timedelta(days=30), limit=15)
    report = msgspec.structs.replace(
        report,
        store_id="3f6f2c1e-8a54-4c55-b1de-0f2c9f0d7a11",
        revision=f"2:{hashlib.sha256(b'an example').hexdigest()}",
        recorded_at="2026-05-15T16:00:00.000Z",
    )
    return "\n".join(markdown(report)) + "\n"


def _risky_lines(session_id: str, now: datetime) -> Iterator[dict[str, Any]]:
    at = now - timedelta(days=3)
    shared = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/mira/src/tidewater",
        "sessionId": session_id,
        "version": "2.1.325",
        "gitBranch": "main",
    }

    def line(kind: str, uuid: str, minutes: int, **more: Any) -> dict[str, Any]:
        stamp = (at + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"parentUuid": None, **shared, "type": kind, "uuid": uuid, "timestamp": stamp, **more}

    prompt = {"role": "user", "content": "Release the gauges."}
    yield line("user", "e0", 0, message=prompt, permissionMode="acceptEdits")
    for number, (tool, given, is_refused) in enumerate(_RISKY, 1):
        asked = {
            "id": f"msg_example{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [{"type": "tool_use", "id": f"toolu_example{number}", "name": tool, "input": given}],
            "usage": {"input_tokens": 900, "output_tokens": 60},
        }
        yield line("assistant", f"e{number}", number, message=asked)
        answer = {
            "type": "tool_result",
            "tool_use_id": f"toolu_example{number}",
            "content": _REFUSED if is_refused else "done",
            "is_error": is_refused,
        }
        yield line("user", f"e{number}r", number, message={"role": "user", "content": [answer]})


def _code(text: str) -> str:
    mark = "``" if "`" in text else "`"
    return f"{mark}{text.replace('|', chr(92) + '|')}{mark}" if text else ""


def syntax_page() -> str:
    """The page on the query language, as it should be."""
    return SYNTAX_HEAD + syntax_markdown() + ASKED_HEAD + "".join(_asked_rows())


def tui_page() -> str:
    """The page on the terminal app, as it should be."""
    from hansard.tui.actions import SessionActions
    from hansard.tui.app import HansardApp
    from hansard.tui.dialogs import bindings_of
    from hansard.tui.frame import TABS, key_name
    from hansard.tui.line_list import LineList
    from hansard.tui.line_view import TextView
    from hansard.tui.query_input import QueryInput
    from hansard.tui.thread_view import ThreadView
    from hansard.tui.views.list_view import ListView

    groups: list[tuple[str, type]] = [
        ("Everywhere", HansardApp),
        ("On a session, in every screen that shows one", SessionActions),
        ("In lists", LineList),
        ("While typing a query", QueryInput),
        ("In texts", TextView),
    ]
    for name in TABS:
        module = import_module(f"hansard.tui.views.{name}")
        groups.append((f"{name.capitalize()} screen", getattr(module, f"{name.capitalize()}View")))
        if name == "reader":
            groups.append(("Moving in the reader", ThreadView))
        if name == "search":
            groups.insert(-1, ("Search, Usage, Files and Prompts screens", ListView))
    parts = [TUI_HEAD]
    for title, kind in groups:
        parts.append(f"\n## {title}\n\n| key | does |\n|---|---|\n")
        for binding in bindings_of(kind):
            keys = ", ".join(f"`{key_name(replace(binding, key=key))}`" for key in binding.key.split(","))
            parts.append(f"| {keys} | {binding.description} |\n")
    return "".join(parts)


def _asked_rows() -> Iterator[str]:
    for name, meaning in MEANINGS.items():
        words = ("text" if meaning.is_of_texts else None, "session", "message" if meaning.usage else None)
        call = "call" if meaning.call else "message" if meaning.usage else None
        prompt = "prompt" if meaning.is_of_texts or meaning.prompt else None
        cells = " | ".join(word or "session" for word in (*words, call, prompt))
        is_kind = meaning.session is None and meaning.session_ids is None
        cells = cells.replace("session", "a text of the session") if is_kind else cells
        yield f"| `{name}{'' if ':' in name else ':'}` | {cells} |\n"


def display_page() -> str:
    """The JSON Schema of a session's document, as it should be."""
    return json.dumps(display_schema(), indent=2) + "\n"


def mcp_answers() -> str:
    """The answers of the MCP server that need no store, for `cli/mcp_start.py`: method, tab, result."""
    lines = [b"versions\t" + " ".join(HANDSHAKE_VERSIONS).encode(), b"stateless\t" + STATELESS_VERSION.encode()]
    server = Server(Store(Settings("", (), 0), syncing=False), Repository("/"))
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS_VERSION}}
    found = (server.handle({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": meta}) or {})["result"]
    envelope = {name: found.pop(name) for name in ("resultType", "_meta", "ttlMs", "cacheScope")}
    for name, value in (
        ("server/discover", found),
        ("every result", envelope),
        ("no list yet", {**envelope, "ttlMs": 0}),
    ):
        lines.append(f"{name}\t".encode() + msgspec.json.encode(value))
    for client, methods in (
        ("", ("initialize", "ping", "tools/list", "resources/templates/list", "prompts/list")),
        (" claude-code", ("prompts/list",)),
    ):
        server = Server(Store(Settings("", (), 0), syncing=False), Repository("/"))
        server.client = client.strip()
        for method in methods:
            answer = server.handle({"jsonrpc": "2.0", "id": 1, "method": method}) or {}
            answer["result"].pop("protocolVersion", None)
            lines.append(f"{method}{client}\t".encode() + msgspec.json.encode(answer["result"]))
    return (b"\n".join(lines) + b"\n").decode()


def main() -> int:
    """Write the pages, or check them."""
    stale = 0
    pages = {
        "schema.md": schema_page(),
        "views.md": views_page(),
        "audit-rules.md": rules_page(),
        "audit-example.md": audit_example(),
        "sql-questions.md": questions_page(),
        "search-syntax.md": syntax_page(),
        "tui.md": tui_page(),
        "display.schema.json": display_page(),
        "audit.schema.json": json.dumps(audit_schema(), indent=2) + "\n",
        "../src/hansard/mcp/answers.txt": mcp_answers(),
    }
    for name, wanted in pages.items():
        page = DOCS / name
        if "--check" not in sys.argv[1:]:
            page.write_text(wanted, encoding="utf-8")
            print(f"wrote {name}")
        elif not page.is_file() or page.read_text(encoding="utf-8") != wanted:
            stale += 1
            print(f"{name} is stale: run tools/make_docs.py")
        else:
            print(f"{name} is current")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
