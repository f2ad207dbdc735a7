"""A secret outside of the store: in working trees, in anything that a repository ever stored, and in exports."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.model.secrets import OtherPlace, SecretReport
from tests.git.making import Workshop
from tests.mcp.writing import Log

TOKEN = "ghp_" + "aB3dE5gH7j" * 3 + "0pQr1s"
SESSION = "11111111-0000-4000-8000-000000000001"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "src" / "app"
    place.mkdir(parents=True)
    return place


def searched(tmp_path: Path, project: Path, *, redact: str = "off") -> SecretReport:
    log = Log(SESSION, cwd=str(project))
    log.prompt(f"Use {TOKEN}.")
    log.reply("Done.")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
        h.export([SESSION], tmp_path / "out.md", redact=redact)
        return show(h)


def show(h: Hansard) -> SecretReport:
    (one,) = h.secrets().secrets
    assert h.secret(one.secret_id).elsewhere is None
    return h.secret(one.secret_id, elsewhere=True)


def test_in_working_trees_and_exports(tmp_path: Path, project: Path) -> None:
    (project / ".env").write_text(f"TOKEN={TOKEN}\n")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "big.bin").write_bytes(b"x" * ((1 << 20) - 10) + TOKEN.encode())
    (project / "other.txt").write_text("nothing")
    (project / "link").symlink_to(project / ".env")
    (tmp_path / "outside.txt").write_text(TOKEN)
    (project / "away").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(project / "pipe")
    report = searched(tmp_path, project)
    assert report.elsewhere == (
        OtherPlace("project", str(project / ".env")),
        OtherPlace("project", str(project / "node_modules" / "big.bin")),
        OtherPlace("export", str(tmp_path / "out.md")),
    )
    assert report.searched == (str(project), str(tmp_path))


def test_in_a_git_history(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "src", "app")
    project = shop.root
    (project / "deep dir").mkdir()
    first, *_ = [
        commit
        for number, text in enumerate((f"a = '{TOKEN}'", f"a = '{TOKEN}'\nb = 1", "a = environ['A']"))
        if (project / "deep dir" / "a.py").write_text(text) and (commit := shop.commit(f"step {number}"))
    ]
    said = shop.commit(f"use {TOKEN}")
    (project / "gone").write_text(f"never committed {TOKEN}")
    alone = shop.git("hash-object", "-w", "gone").strip()
    (project / "gone").unlink()
    report = searched(tmp_path, project, redact="on")
    assert set(report.elsewhere or ()) == {
        OtherPlace("commit", str(project), said),
        OtherPlace("commit", str(project), first, "deep dir/a.py"),
        OtherPlace("commit", str(project), "", alone),
    }
    assert report.searched[:2] == (str(project), str(project / ".git"))


def test_a_session_at_home_does_not_read_everything(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    (project / "notes.txt").write_text(TOKEN)
    report = searched(tmp_path, project, redact="on")
    assert (report.elsewhere, report.searched) == ((), (str(tmp_path),))
