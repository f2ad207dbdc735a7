"""Write the documentation that is made from the code: schema.md, views.md, search-syntax.md, tui.md and display.schema.json in docs. `--check` only tells whether it is current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import msgspec

from hansard.config import Settings
from hansard.engine import schemas
from hansard.mcp.server import HANDSHAKE_VERSIONS, STATELESS_VERSION, Server
from hansard.mcp.store import Repository, Store
from hansard.model.schema import display_schema
from hansard.query.compile import MEANINGS
from hansard.query.language import syntax_markdown
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

Generated from the code by `tools/make_docs.py`. These are the tables that `hansard export` writes as Parquet and CSV. Their names and types are stable;
the tables of [index.db](schema.md) are not.

- A place is a `transcript` and a `byte_offset`: the line that begins there in that transcript.
- `is_copy` is true for rows that repeat another one: forks, replays and former generations of a file have the same lines again. Without these,
  counts and sums are those of Hansard's reports.
- `cost_usd` is exact. Sums of it over `usage` are those of `hansard usage`.

| type | in Parquet | in CSV |
|---|---|---|
| text | `VARCHAR` | as it is; what a spreadsheet would take for a formula begins with an apostrophe; control characters are left out |
| integer | `BIGINT` | digits |
| boolean | `BOOLEAN` | `true`, `false` |
| time | `TIMESTAMP` in UTC; null where it is unknown | ISO 8601 in UTC |
| money | `DECIMAL(38, 18)` in US dollars | digits |
"""
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
    return "".join(parts)


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
        "search-syntax.md": syntax_page(),
        "tui.md": tui_page(),
        "display.schema.json": display_page(),
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
