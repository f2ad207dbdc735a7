"""Write the documentation that is made from the code: schema.md, search-syntax.md and display.schema.json in docs. `--check` only tells whether it is current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
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


def schema_page() -> str:
    """The page on the databases, as it should be."""
    parts = [SCHEMA_HEAD]
    parts += [f"\n## {name}\n\n```sql\n{sql}\n```\n" for name, sql in schemas().items()]
    return "".join(parts)


def syntax_page() -> str:
    """The page on the query language, as it should be."""
    return SYNTAX_HEAD + syntax_markdown() + ASKED_HEAD + "".join(_asked_rows())


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
    pages = {"schema.md": schema_page(), "search-syntax.md": syntax_page(), "display.schema.json": display_page()}
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
