"""The hard session in every format, compared with what was looked at and found good.

HANSARD_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.model.display import DisplayThread
from tests.hard_session import write_hard_session

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"html": "html", "markdown": "md", "json": "json", "jsonl": "jsonl", "csv": "csv"}
ENDINGS |= {"atif": "atif.json", "traces": "trace.jsonl", "otlp": "otlp.jsonl"}


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, str, str]]:
    root = tmp_path_factory.mktemp("hard") / "claude"
    session = write_hard_session(root)
    with hansard.open(root.parent / "store", [root]) as h:
        h.sync()
        h.tag(session, "hard")
        h.note(session, "Everything is in it.")
        yield h, session, str(root)


@pytest.mark.skipif(os.name == "nt", reason="paths are written otherwise there")
@pytest.mark.parametrize("form", ENDINGS)
def test_every_format(hard: tuple[Hansard, str, str], tmp_path: Path, form: str) -> None:
    h, session, root = hard
    target = tmp_path / f"hard.{ENDINGS[form]}"
    assert not h.export([session], target, format=form, timezone="UTC").failed
    text = target.read_text(encoding="utf-8").replace(root, "/ROOT")
    if form == "html":
        # How it looks and behaves is tested in a browser; here is what it says.
        text = re.sub(r"(?s)<(style|script)\b.*?</\1>|<meta http-equiv[^>]*>", "", text)
    if form == "traces":
        # They are the lines of the transcripts: their order and content are enough.
        text = "".join(f"{sha256(line.encode()).hexdigest()[:16]} {line[:60]}\n" for line in text.split("\n")[:-1])
    _compare(form, text)


def test_every_table(hard: tuple[Hansard, str, str], tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    h, session, _ = hard
    assert not h.export([session], tmp_path, format="parquet").failed
    told = []
    with duckdb.connect(":memory:") as db:
        for path in sorted(tmp_path.glob("*.parquet")):
            (count,) = db.execute(f"SELECT count(*) FROM '{path}'").fetchone()
            told.append(f"{path.stem}: {count} rows")
            told += [f"  {name} {kind}" for name, kind, *_ in db.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    _compare("parquet", "\n".join(told) + "\n")


def _compare(form: str, text: str) -> None:
    # Not under the format's own ending: formatters and linters would have their say.
    path = GOLDEN / f"hard_{form}.txt"
    if os.environ.get("HANSARD_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_bytes().decode()


def test_every_record_is_drawn_or_counted(hard: tuple[Hansard, str, str]) -> None:
    h, session, _ = hard
    tree = h.read(session)
    display = tree.display()
    for thread in _threads(display.thread, *display.others):
        if not thread.turns:
            continue
        path = thread.turns[0].items[0].transcript
        number, _ = h.find_transcript(path)
        lines = h.reader.one("SELECT records FROM transcripts WHERE id = ?", (number,))[0]
        drawn = {item.offset for turn in thread.turns for item in turn.items}
        results = h.reader.one(
            "SELECT count(DISTINCT r.id) FROM records r WHERE r.id BETWEEN ?1 << 40 AND (?1 << 40) + 1099511627775"
            " AND r.role = 'result'",
            (number,),
        )[0]
        assert len(drawn) + results + sum(thread.not_shown.values()) >= lines, path


def _threads(*threads: DisplayThread) -> Iterator[DisplayThread]:
    for thread in threads:
        yield thread
        for turn in thread.turns:
            for item in turn.items:
                if item.thread is not None:
                    yield from _threads(item.thread)
