"""Write the documentation pages that are made from the code: docs/schema.md. `--check` only tells whether they are current."""

from __future__ import annotations

import sys
from pathlib import Path

from hansard.cli.reference import schemas

PAGE = Path(__file__).resolve().parent.parent / "docs" / "schema.md"
HEAD = """\
# The databases

Made from the code by `tools/make_docs.py`; `hansard schema` prints the same. [storage.md](storage.md) tells what each file is for.

The schemas may be read by other programs, with SQLite's command line for example; open them read-only. `record.db` keeps its layout or migrates it.
`index.db` and `text.db` are made again when theirs changes. In `index.db` an id tells where a thing stands: `id >> 40` is its transcript,
`id & 1099511627775` the byte offset of its line. Times there are milliseconds since 1970 in UTC.
"""


def schema_page() -> str:
    """The page, as it should be."""
    parts = [HEAD]
    parts += [f"\n## {name}\n\n```sql\n{sql}\n```\n" for name, sql in schemas().items()]
    return "".join(parts)


def main() -> int:
    """Write the page, or check it."""
    wanted = schema_page()
    if "--check" in sys.argv[1:]:
        current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == wanted
        print(f"{PAGE.name} is {'current' if current else 'stale: run tools/make_docs.py'}")
        return 0 if current else 1
    PAGE.write_text(wanted, encoding="utf-8")
    print(f"wrote {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
