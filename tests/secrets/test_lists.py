"""Secrets are listed with all their places, and what the user decides about one stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.guard.remedies import how_to_replace, rule_title
from hansard.guard.rules import RULES
from hansard.model.serialize import encoded
from tests.mcp.writing import Log
from tests.secrets.conftest import PlantedStore
from tests.secrets.planting import BARE, ENCODED, PLANTED, core

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"
PASSWORD = "Tr0ub4dor-x77"
FIRST, SECOND = "aaaa0001-0000-4000-8000-000000000001", "bbbb0002-0000-4000-8000-000000000002"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two sessions: one reads a `.env` file and passes the token on, the other has the same token."""
    one = Log(FIRST, cwd="/src/tide")
    env = f"GITHUB_TOKEN={TOKEN}\nDB_PASSWORD={PASSWORD}\n"
    one.call("Read", {"file_path": "/src/tide/.env"}, env)
    one.call("Bash", {"command": f"git push https://x:{TOKEN}@github.com/a/b"}, "done")
    one.reply("Pushed.")
    one.write(tmp_path / "claude")
    two = Log(SECOND, cwd="/src/other", day=2)
    two.prompt(f"use {TOKEN}")
    two.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        h.scan_secrets()
    return tmp_path


def test_a_secret_has_its_places_and_what_to_do(small: Path) -> None:
    with hansard.open(small / "store", [small / "claude"]) as h:
        token, password = h.secrets().secrets
        report = h.secret(token.secret_id[:8])
    assert (token.confidence, token.places, token.sessions, token.state) == ("high", 3, 2, "open")
    assert (password.rule, password.confidence, password.places) == ("password", "medium", 1)
    assert password.example is not None
    assert (password.example.kind, password.example.tool, password.example.file) == ("result", "Read", "/src/tide/.env")
    assert [(place.session_id, place.kind, place.tool) for place in report.places] == [
        (FIRST, "result", "Read"),
        (FIRST, "call", "Bash"),
        (SECOND, "prompt", ""),
    ]
    assert [place.project for place in report.places] == ["/src/tide", "/src/tide", "/src/other"]
    assert report.page == "https://github.com/settings/tokens"
    assert "GitHub" in report.advice
    assert token.first_at == report.places[0].at


def test_filters_and_pages(small: Path) -> None:
    with hansard.open(small / "store", [small / "claude"]) as h:
        assert [one.rule for one in h.secrets(confidence="medium").secrets] == ["password"]
        assert [one.rule for one in h.secrets(rule="pass").secrets] == ["password"]
        assert h.secrets(session=SECOND).total == 1
        assert h.secrets(project="other").total == 1
        assert h.secrets(state="rotated").total == 0
        first = h.secrets(limit=1)
        second = h.secrets(limit=1, cursor=first.next_cursor)
        assert first.secrets + second.secrets == h.secrets().secrets
        assert second.next_cursor is None
        with pytest.raises(UsageError, match="invalid cursor"):
            h.secrets(state="all", cursor=first.next_cursor)


def test_a_decision_survives_everything_that_is_made_again(small: Path) -> None:
    with hansard.open(small / "store", [small / "claude"]) as h:
        (token, password) = h.secrets().secrets
        decided = h.resolve_secret(token.secret_id, "rotated", "new key since Monday")
        assert (decided.state, decided.note) == ("rotated", "new key since Monday")
        h.rebuild()
        (small / "store" / "secrets.db").unlink()
        h.scan_secrets()
        assert [one.secret_id for one in h.secrets().secrets] == [password.secret_id]
        assert [one.state for one in h.secrets(state="all").secrets] == ["open", "rotated"]
        assert h.secret_counts() == {FIRST: 1}
        assert h.resolve_secret(token.secret_id, "open").state == "open"
        assert h.secret_counts() == {FIRST: 2, SECOND: 1}
        with pytest.raises(UsageError, match="not a state"):
            h.resolve_secret(token.secret_id, "gone")


def test_a_false_alarm_is_not_redacted_and_a_password_everywhere(small: Path) -> None:
    with hansard.open(small / "store", [small / "claude"]) as h:
        (token, password) = h.secrets().secrets
        h.note(FIRST, f"it was {PASSWORD} then")
        assert h.reveal_secret(token.secret_id) == TOKEN
        assert h.reveal_secret(password.secret_id) == PASSWORD
    with hansard.open(small / "store", [small / "claude"], redact="on") as h:
        assert h.remarks(FIRST).notes == (f"it was [password:{password.secret_id[:4]}] then",)
        assert TOKEN not in str(h.conversation(SECOND))
        h.resolve_secret(token.secret_id, "false-alarm")
        h.resolve_secret(password.secret_id, "false-alarm")
    with hansard.open(small / "store", [small / "claude"], redact="strict") as h:
        assert TOKEN in str(h.conversation(SECOND))
        assert PASSWORD in h.remarks(FIRST).notes[0]


def test_a_name_must_fit_one_secret(small: Path) -> None:
    with hansard.open(small / "store", [small / "claude"]) as h:
        (token, _) = h.secrets().secrets
        assert h.secret(f"[github-pat:{token.secret_id[:4]}]").secret.secret_id == token.secret_id
        for name in ("zzzz", "abc", "", "0" * 12):
            with pytest.raises(NotFound):
                h.secret(name)
    (small / "store" / "secrets.db").unlink()
    with hansard.open(small / "store", [small / "claude"]) as h, pytest.raises(NotFound, match="secrets scan"):
        h.secret("0000")


def test_many_secrets_may_fit_a_name(h: Hansard) -> None:
    ids = [one.secret_id for one in h.secrets(limit=None).secrets]
    shared = next((one[:4] for one in ids if sum(other.startswith(one[:4]) for other in ids) > 1), None)
    if shared is not None:
        with pytest.raises(Ambiguous):
            h.secret(shared)


def test_before_the_first_scan_nothing_is_known(tmp_path: Path) -> None:
    log = Log(FIRST)
    log.prompt(f"use {TOKEN}")
    log.write(tmp_path / "claude")
    with hansard.open(tmp_path / "store", [tmp_path / "claude"]) as h:
        h.sync()
        page = h.secrets()
        assert (page.total, page.rules) == (0, "")
        assert page.unscanned_bytes == h.status().kept_bytes
        assert h.secret_counts() == {}


def test_no_answer_about_secrets_holds_one(h: Hansard) -> None:
    page = h.secrets(limit=None, state="all")
    shown = encoded(page) + b"".join(encoded(h.secret(one.secret_id)) for one in page.secrets[::7])
    assert [planted.kind for planted in PLANTED if core(planted).encode() in shown] == []


def test_every_secret_can_be_revealed_by_its_id(h: Hansard) -> None:
    values = {planted.value.replace("\n", "") for planted in PLANTED}
    revealed = {re.sub(r"\s", "", h.reveal_secret(one.secret_id)) for one in h.secrets(limit=None).secrets[::5]}
    assert revealed <= {re.sub(r"\s", "", value) for value in values}


def test_encoded_secrets_and_names_are_marked(h: Hansard, planted: PlantedStore) -> None:
    def places(session: str) -> list[bool]:
        found = [h.secret(one.secret_id).places for one in h.secrets(session=session, limit=None).secrets]
        return [place.is_encoded for some in found for place in some if place.session_id == session]

    assert any(places(ENCODED))
    assert not any(places(BARE))


def test_every_rule_of_ours_has_a_name_and_advice() -> None:
    for rule in RULES:
        assert rule_title(rule.name)[:1].isupper() or rule.name in ("npm-token", "age-key", "netrc", "crates-token")
        assert how_to_replace(rule.name)[0].endswith(".")
