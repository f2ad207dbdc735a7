"""`status()` from the walk of the sync before it, or from its own."""

from __future__ import annotations

import json
import os
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as cli
from hansard.cli.statusline.run import trouble
from hansard.demo import write_history
from hansard.model.health import describe_link
from hansard.model.serialize import plain
from hansard.query import health
from hansard.render.terminal.health import status_lines
from hansard.render.text import Paint
from hansard.storage.heartbeat import note_failure
from hansard.storage.sqlite import connect
from tests.web.serving import site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard import Hansard


@pytest.fixture
def h(tmp_path: Path) -> Iterator[Hansard]:
    """A synced history whose files have come to rest, with a link that is not followed."""
    write_history(tmp_path / "claude", now=datetime(2026, 5, 1, 12, tzinfo=UTC))
    (tmp_path / "outside").mkdir()
    (tmp_path / "claude" / "projects" / "-linked").symlink_to(tmp_path / "outside")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as opened:
        opened.sync()
        with closing(connect(str(tmp_path / "store" / "record.db"))) as db:
            db.execute("UPDATE file SET mark_seen_ns = mark_seen_ns + 60000000000")
        yield opened


def test_the_walk_of_a_sync_that_found_nothing_serves_the_status(h: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    assert h.sync().changed == 0
    walked = h.status()
    assert walked.doomed
    assert walked.roots[0].unfollowed_links
    monkeypatch.setattr(health, "discover", lambda _root: pytest.fail("walked again"))
    assert h.status(as_synced=True) == walked


def test_after_a_sync_that_found_something_the_sources_are_walked(h: Hansard, tmp_path: Path) -> None:
    files = h.status().roots[0].files
    (tmp_path / "claude" / "projects" / "-new").mkdir()
    (tmp_path / "claude" / "projects" / "-new" / "0e6f1a2b-0000-4000-8000-000000000001.jsonl").write_bytes(b"{}\n")
    assert h.sync().changed == 1
    assert h.status(as_synced=True).roots[0].files == files + 1
    assert h.status(as_synced=True) == h.status()


def test_without_a_sync_the_sources_are_walked(h: Hansard, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as other:
        assert other.status(as_synced=True) == h.status()


def test_what_the_record_has_not_is_told(h: Hansard, tmp_path: Path) -> None:
    old = next(item for item in h.status().doomed if item.kept)
    place = tmp_path / "claude" / old.path
    place.write_bytes(place.read_bytes() + b"{}\n")
    os.utime(place, (1_700_000_000, 1_700_000_000))
    assert [item.path for item in h.status().doomed if not item.kept] == [old.path]


def test_every_front_end_says_the_same(h: Hansard, tmp_path: Path) -> None:
    home, root = str(tmp_path / "store"), str(tmp_path / "claude")
    assert trouble(home) == ""
    assert h.doctor().is_healthy
    with closing(connect(f"{home}/index.db")) as db:
        db.execute("INSERT INTO quarantine SELECT 'rows', id, size, 'torn', 0 FROM transcripts ORDER BY id LIMIT 1")
    note_failure(home, OSError("the disk is full"))

    status, findings = h.status(), {(item.level, item.subject): item.text for item in h.doctor().findings}
    (problem,) = status.problems
    (link,) = status.roots[0].unfollowed_links
    assert status.sync_error == "the disk is full"
    assert findings["error", "sync"] == f"the last sync did not finish: {status.sync_error}"
    assert findings["warning", "quarantine"] == f"{problem.subject} could not be indexed: torn"
    assert findings["warning", "link"] == describe_link(link)
    assert "sync fails" in trouble(home)

    said: list[Any] = []
    for command, code in (("status", 0), ("doctor", 1)):
        result = CliRunner().invoke(cli, [command, "--json", "--no-sync", "--home", home, "--root", root])
        assert result.exit_code == code
        said.append(json.loads(result.stdout))
    with site(tmp_path / "store", tmp_path / "claude") as running, running.client() as client:
        served = [client.get(f"/api/{name}").json() for name in ("status", "doctor")]
    for name in ("sync_error", "problems", "roots"):
        assert said[0][name] == served[0][name] == json.loads(json.dumps(plain(status)[name]))
    assert said[1]["findings"] == served[1]["findings"]
    lines = "\n".join(status_lines(status, datetime.now(UTC), 200, Paint(enabled=False)))
    assert "the disk is full" in lines
    assert "torn" in lines
