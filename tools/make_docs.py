"""Write the documentation that is made from the code: schema.md, search-syntax.md, tui.md and display.schema.json in docs. `--check` only tells whether it is current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from hansard.engine import schemas
from hansard.model.schema import display_schema
from hansard.query.compile import MEANINGS
from hansard.query.language import syntax_markdown

DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMA_HEAD = """\
# The databases

Made from the code by `tools/make_docs.py`; `hansard schema` prints the same. [storage.md](storage.md) tells what each file is for.

The schemas may be read by other programs, with SQLite's command line for example; open them read-only. `record.db` keeps its layout or migrates it.
`index.db` and `text.db` are made again when theirs changes. In `index.db` an id tells where a thing stands: `id >> 40` is its transcript,
`id & 1099511627775` the byte offset of its line. Times there are milliseconds since 1970 in UTC.
"""
SYNTAX_HEAD = """\
# What to write to find something

Made from the code by `tools/make_docs.py`.

"""
ASKED_HEAD = """
## What a field is asked of

A field is asked of the thing that is listed where that has it, and of its session otherwise; so is the option or the parameter of that name. Words must
stand together in one text of the session, and of `prompts` in the prompt itself. Calls are those of the pages Tools and Files.

| field | `search` | `sessions`, `export` | `usage`, `blocks`, `explain` | calls, files | `prompts` |
|---|---|---|---|---|---|
"""
TUI_HEAD = """\
# The terminal app

`hansard tui` opens the whole history in the terminal: seven screens under the keys 1 to 7, one engine behind them, the same figures as everywhere. The keys below are made from
the code by `tools/make_docs.py`; `?` shows those of the screen at hand, `:` runs any of them by name.

![The list of sessions with a preview](pictures/tui-sessions.svg)

- **Sessions** lists every session there is, with a preview of how it ends. `/` filters in the [query language](search-syntax.md) while you type (Tab completes fields and values), `s` goes
  through the scopes: this directory's project, all, pinned, deleted by the client but kept here, everything. KEPT says in how many days the client deletes a transcript, or that it is only here.
- **Reader** shows a session as `hansard show` does. A cursor stands on one item; Enter unfolds it, or opens the subagent that it started. `/` finds letters anywhere in the
  session, also where nothing is loaded yet. Sessions of any length open at once: what is far away is read when you come near it.
- **Search** finds while you type and shows the place of each hit; **Usage** is any report of `hansard usage` with charts, Enter explains a row down to the arithmetic; **Files**
  has the history of each file with its diffs; **Prompts** everything that was ever typed; **Health** what `status` and `doctor` tell.
- `r` leaves the app, goes to the session's directory and runs the client there; a transcript that the client deleted is restored first. `F` does the same with a fork of the session.
- `y` copies through the terminal (OSC 52), so it works over SSH where the terminal allows it; in tmux, `set -g set-clipboard on`.
- `I` shows pictures where the terminal can (kitty, Ghostty, iTerm2, WezTerm and others with its protocol); elsewhere they are opened by the system.

The app begins where it was left (`tui.json` in the data directory). Ctrl-T goes through the themes: the terminal's own colours for a dark or a light background, and two with colours of
their own. `NO_COLOR` and `--color never` are respected. New transcripts are synced while the app runs, unless it was started with `--no-sync`. Should it fail, the terminal
is as it was, and the error names a log.

## Picking

`hansard tui --pick` prints the id of the session that is chosen; `--pick message` what `hansard show` needs to show a message. The app draws on the terminal even where standard output
is a pipe. Nothing chosen: exit code 1. Commands that need a session and are given none show the same list.

```sh
claude --resume "$(hansard tui --pick)"
hansard show $(hansard tui --pick message)
```
"""


def schema_page() -> str:
    """The page on the databases, as it should be."""
    parts = [SCHEMA_HEAD]
    parts += [f"\n## {name}\n\n```sql\n{sql}\n```\n" for name, sql in schemas().items()]
    return "".join(parts)


def syntax_page() -> str:
    """The page on the query language, as it should be."""
    return SYNTAX_HEAD + syntax_markdown() + ASKED_HEAD + "".join(_asked_rows())


def tui_page() -> str:
    """The page on the terminal app, as it should be."""
    from hansard.tui.actions import SessionActions
    from hansard.tui.app import HansardApp
    from hansard.tui.frame import TABS, key_name
    from hansard.tui.help import bindings_of
    from hansard.tui.line_list import LineList
    from hansard.tui.query_input import QueryInput
    from hansard.tui.text_view import TextView
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


def main() -> int:
    """Write the pages, or check them."""
    stale = 0
    pages = {
        "schema.md": schema_page(),
        "search-syntax.md": syntax_page(),
        "tui.md": tui_page(),
        "display.schema.json": display_page(),
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
