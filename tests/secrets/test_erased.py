"""Of secrets that are split over texts or coloured nothing is left when they are forgotten or scrubbed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hansard
from hansard.guard.kept_rules import kept_version
from tests.secrets.planting import PARTED, write_planted_history
from tests.secrets.test_redacted import leaked


@pytest.mark.skipif(kept_version() is None, reason="the extra `secrets` is not installed")
@pytest.mark.parametrize("way", ["forget", "scrub"])
def test_no_part_is_left(tmp_path: Path, way: str) -> None:
    write_planted_history(tmp_path / "claude")
    (path,) = (tmp_path / "claude").rglob(f"{PARTED}.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
        secrets = h.secrets(session=PARTED, limit=None).secrets
        assert len(secrets) == 9
        assert leaked(b"".join(h.cat(PARTED)).decode())
        if way == "forget":
            h.forget(secrets=[one.secret_id for one in secrets])
        else:
            h.scrub([PARTED], backup=False)
            assert leaked(path.read_text("utf-8")) == set()
        kept = b"".join(h.cat(PARTED)).decode()
        assert leaked(kept) == set()
        assert [json.loads(line)["type"] for line in kept.splitlines()] == [line["type"] for line in lines]
        assert "is what I use." in kept
        h.scan_secrets(full=True)
        assert h.secrets(session=PARTED, limit=None).secrets == ()
