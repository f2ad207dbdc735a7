"""Every front end shows the same number of open secrets, marks the same sessions, and links to the places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command
from hansard.engine import Hansard
from hansard.tui.session_list import ListFacts, session_row
from hansard.tui.views.health import _lines
from tests.secrets.conftest import PlantedStore
from tests.secrets.planting import BARE
from tests.secrets.test_redacted import leaked
from tests.web.serving import Site, site


@pytest.fixture(scope="module")
def running(planted: PlantedStore) -> Iterator[Site]:
    with site(planted.home, planted.root) as made:
        yield made


def run(planted: PlantedStore, *words: str) -> str:
    done = CliRunner().invoke(command, [*words, "--home", str(planted.home), "--root", str(planted.root), "--no-sync"])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_the_number_of_open_secrets_is_the_same_everywhere(h: Hansard, planted: PlantedStore, running: Site) -> None:
    total = h.secrets(limit=1).total
    with running.client() as client:
        health = client.get("/health").text
        api: dict[str, Any] = client.get("/api/secrets?limit=1").json()
    shown = re.search(r"([\d,]+) open secrets</b>", health)
    assert shown is not None
    found = {
        "listed": len(h.secrets(limit=None).secrets),
        "command": json.loads(run(planted, "secrets", "--json"))["total"],
        "api": api["total"],
        "kinds": sum(count for _, count in api["by_kind"]),
        "health": int(shown[1].replace(",", "")),
        "terminal": int(re.findall(r"([\d,]+) open secrets:", "\n".join(_lines(h, 100, diagnosed=False)))[0]),
    }
    assert set(found.values()) == {total}, found


def test_sessions_are_marked_with_their_open_secrets(h: Hansard, planted: PlantedStore, running: Site) -> None:
    counts = h.secret_counts()
    assert counts
    for session_id in (planted.session, BARE):
        assert counts[session_id] == h.secrets(session=session_id, limit=1).total
    session = h.session(BARE)
    facts = ListFacts(datetime.now(UTC), {}, counts)
    assert f"[{counts[BARE]} secrets]" in session_row(session, facts, 200, {})
    header, *_ = run(planted, "sessions").splitlines()
    assert "SECRETS" in header
    with running.client() as client:
        page = client.get("/sessions").text
    assert f">{counts[BARE]} secrets</a>" in page


def test_a_list_without_open_secrets_has_no_column(h: Hansard) -> None:
    from hansard.cli.output.session_table import session_table

    assert "SECRETS" not in [column.title for column in session_table(h.sessions().sessions).columns]


def test_the_page_of_a_secret_links_to_its_messages(h: Hansard, running: Site) -> None:
    linked = 0
    with running.client() as client:
        assert "/health/secrets/" in client.get("/health").text
        for secret in h.secrets(limit=12).secrets:
            page = client.get(f"/health/secrets/{secret.secret_id}")
            assert page.status_code == 200
            assert leaked(page.text) == set()
            assert leaked(client.get(f"/api/secrets/{secret.secret_id[:12]}").text) == set()
            for address in re.findall(r'href="(/sessions/[^"]+)"', page.text)[:2]:
                assert client.get(address.replace("&amp;", "&").partition("#")[0]).status_code == 200
                linked += 1
        assert client.get("/health/secrets/ffffffffffff").status_code == 404
    assert linked
