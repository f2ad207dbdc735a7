"""Files for the `_bulk` interface of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError, WouldOverwrite
from hansard.export import Exported, bulk
from hansard.render import bulk as documents
from tests.cli.conftest import OTHER, SESSION, said, write_log
from tests.guard.planted_secrets import plant
from tests.render.payloads import write_hostile_history


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents by their ids, as a server takes them: an action and a document on a line each."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("texts-*.bulk.ndjson")):
        content = path.read_bytes()
        assert content.endswith(b"\n")
        lines = content.split(b"\n")[:-1]
        assert len(lines) % 2 == 0
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            (name,) = json.loads(action)["index"].values()
            assert name not in found
            found[name] = json.loads(document)
    return found


def test_every_text_is_a_document_that_fits_the_mapping(demo: Hansard, exported: Callable[[str], Exported]) -> None:
    done = exported("bulk")
    assert not done.failed
    out = Path(done.to)
    found = load(out)
    fields = set(documents.MAPPING["mappings"]["properties"])
    assert json.loads((out / "mapping.json").read_bytes()) == documents.MAPPING
    assert all(set(document) == fields for document in found.values())
    kinds = Counter(document["kind"] for document in found.values())
    assert {"title", "prompt", "reply", "thinking", "call", "result"} <= set(kinds)
    sessions = demo.sessions(limit=None).sessions
    assert {session.session_id for session in sessions} <= {one["session_id"] for one in found.values()}
    assert any(document["agent_id"] for document in found.values())
    assert any(
        document["tool"] == "Bash" and document["kind"] == "result" and document["is_error"]
        for document in found.values()
    )
    hits = demo.search("parser", limit=20, group=False).hits
    texts = [document["text"] for document in found.values()]
    assert hits
    for hit in hits:
        word = hit.snippet[slice(*hit.highlights[0])]
        assert any(word in text for text in texts), hit


def test_ids_are_the_same_in_every_export(
    demo: Hansard, exported: Callable[[str], Exported], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = load(Path(exported("bulk").to))
    monkeypatch.setattr(bulk, "MOST_BYTES", 200_000)
    demo.export(None, tmp_path / "two", format="bulk")
    assert one == load(tmp_path / "two")


def test_files_are_of_bounded_size_and_old_ones_go(
    demo: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(bulk, "MOST_BYTES", 300_000)
    many = demo.export(None, out, format="bulk")
    files = sorted(out.glob("texts-*"))
    assert len(files) > 3
    assert many.written == len(files) + 2
    assert all(path.stat().st_size <= 300_000 for path in files)
    whole = load(out)
    few = demo.export(demo.sessions(limit=3).sessions, out, format="bulk")
    assert few.removed > 0
    assert few.written + few.removed == many.written
    left = load(out)
    assert {document["session_id"] for document in left.values()} == {
        one.session_id for one in demo.sessions(limit=3).sessions
    }
    assert left.items() <= whole.items()


def test_a_long_text_is_several_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LONGEST", 1000)
    text = "".join(f"word{number} " for number in range(1000))
    write_log(tmp_path / "claude", SESSION, [said(1, text), said(2, "short", role="assistant")])
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.export([SESSION], tmp_path / "out", format="bulk")
    parts = [one for one in load(tmp_path / "out").values() if one["kind"] == "prompt"]
    assert [one["part"] for one in parts] == list(range(len(parts)))
    assert "".join(one["text"] for one in parts).strip() == text.strip()


def test_a_text_that_changed_keeps_its_id(small: Hansard, root: Path, tmp_path: Path) -> None:
    small.export(None, tmp_path / "one", format="bulk")
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At two.", role="assistant"), said(3, "Thanks")])
    small.sync()
    small.export(None, tmp_path / "two", format="bulk")
    before, after = load(tmp_path / "one"), load(tmp_path / "two")
    assert before.keys() < after.keys()
    changed = [name for name in before if before[name]["text"] != after[name]["text"]]
    assert [after[name]["text"] for name in changed] == ["At two."]


def test_secrets_are_redacted_and_hostile_text_stays_one_line(tmp_path: Path) -> None:
    secrets = [one for one in plant(7) if "\n" not in one.line]
    root = tmp_path / "claude"
    write_log(root, OTHER, [said(number + 1, one.line, session=OTHER) for number, one in enumerate(secrets)])
    write_hostile_history(root)
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        done = h.export(None, tmp_path / "out", format="bulk")
        assert done.redacted > 0
        assert not done.failed
        found = load(tmp_path / "out")
        whole = "".join(path.read_text() for path in (tmp_path / "out").iterdir() if path.name[0] != ".")
        assert [one.kind for one in secrets if one.value in whole] == []
        assert "redacted" in (tmp_path / "out" / "README.txt").read_text().lower()
        assert any("\n" in document["text"] for document in found.values())
        h.export(None, tmp_path / "plain", format="bulk", redact="off")
        assert any(one.value in document["text"] for one in secrets for document in load(tmp_path / "plain").values())
        assert "not redacted" in (tmp_path / "plain" / "README.txt").read_text()


def test_what_does_not_fit_is_refused(small: Hansard, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a directory"):
        small.export([SESSION], tmp_path / "x.bulk.ndjson")
    with pytest.raises(UsageError, match="prune"):
        small.export([SESSION], tmp_path / "out", format="bulk", prune=True)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "README.txt").write_text("mine")
    with pytest.raises(WouldOverwrite):
        small.export([SESSION], tmp_path / "own", format="bulk")
    assert (tmp_path / "own" / "README.txt").read_text() == "mine"
    assert [path.name for path in (tmp_path / "own").iterdir() if path.name[0] != "."] == ["README.txt"]


def test_an_export_that_was_killed_is_made_again(
    small: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    whole = bulk._write
    monkeypatch.setattr(
        bulk, "_write", lambda export, path, *more: (killed if path == "README.txt" else whole)(export, path, *more)
    )
    with pytest.raises(KeyboardInterrupt):
        small.export(None, tmp_path / "out", format="bulk")
    monkeypatch.undo()
    assert small.export(None, tmp_path / "out", format="bulk").written == 3
    assert len(load(tmp_path / "out")) == 6
