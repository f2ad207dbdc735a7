"""Health: the store, its sources, what is odd in transcripts, and the check that takes longer."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import hansard
from hansard.engine import Hansard
from hansard.model.health import Diagnosis, Finding
from hansard.sources.tail import open_tail
from hansard.sync import record_writer
from hansard.web.caches import AnswerCache
from tests.sync.making import Tree, assistant, call, entry, main_path, raw, session, user
from tests.web.elements import Element, read
from tests.web.serving import Site, site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser

ONE, TWO = session(1), session(2)
TOKEN = "ghp_" + "A1b2C3d4E5f6" * 3


@pytest.fixture(scope="module")
def ailing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store with odd lines, records of tomorrow's client, a file that is too large, and one that is about to be deleted."""
    place = tmp_path_factory.mktemp("web-ailing")
    tree = Tree(place / "claude", place / "home")
    tomorrow = [
        entry("quantum", ONE, "q1", version="9.0.0"),
        user(ONE, "u2", "hi", version="9.0.0", strangeField={"a": 1}),
    ]
    lines = [user(ONE, "u1", "Look."), assistant(ONE, "a1", "msg_011", [call("t1", "Bash", command="ls")])]
    new = tree.write(main_path(ONE), raw(lines) + b"this is no JSON <b>at all</b>\n" + raw(tomorrow))
    old = tree.write(main_path(TWO), [user(TWO, "u1", "Old."), assistant(TWO, "a1", "msg_012", "Yes.")])
    soon = time.time() - timedelta(days=29).total_seconds()
    os.utime(old, (soon, soon))
    os.utime(new, (time.time(), time.time()))
    (tree.config / "todos").mkdir()
    (tree.config / "todos" / f"{ONE}-agent-{ONE}.json").write_bytes(b" " * 2_000_000)
    with hansard.open(tree.home, [tree.config], max_file=1_000_000) as h:
        h.sync()
    with site(tree.home, tree.config) as running:
        yield running


def parsed(client: httpx.Client, path: str) -> Element:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def card(page: Element, name: str) -> Element:
    return page.one(f"section[aria-labelledby={name}-title]")


def test_the_store_and_its_sources(client: httpx.Client, demo: Site) -> None:
    page = parsed(client, "/health")
    with hansard.open(demo.settings.home, demo.settings.roots) as h:
        status = h.status()

    kept = card(page, "kept").text
    assert f"Sessions {status.sessions:,}" in kept
    assert f"Transcripts {status.transcripts:,}" in kept
    assert demo.settings.home in card(page, "size").text
    assert [cell.text for cell in card(page, "sources").all("tbody td.path")] == list(demo.settings.roots)
    assert f"version {hansard.__version__}"[8:] in card(page, "about").text
    assert "genai-prices" in card(page, "prices").text


def test_odd_lines_and_new_fields_lead_to_their_bytes(ailing: Site) -> None:
    with ailing.client() as client:
        page = parsed(client, "/health")
        issues, drift = card(page, "issues"), card(page, "drift")

        assert "No JSON" in issues.text
        assert "9.0.0" in drift.text
        assert "strangeField" in drift.text
        assert "quantum" in drift.text
        links = issues.each("td.spots a", "href") + drift.each("td.spots a", "href")
        assert len(links) == 3
        for link in links:
            assert client.get(link).status_code == 200, link
        assert "this is no JSON &lt;b&gt;at all&lt;/b&gt;" in client.get(links[0]).text
        assert "strangeField" in client.get(links[-1]).text


def test_what_is_in_quarantine_is_named_on_both_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path / "claude", tmp_path / "home")
    for name in (ONE, TWO):
        tree.write(main_path(name), [user(name, f"u-{name}", "Look.")])
    real = open_tail

    def refuse(path: str, *more: Any, **named: Any) -> Any:
        if TWO in path:
            raise PermissionError(13, "<b>Permission</b> denied", path)
        return real(path, *more, **named)

    monkeypatch.setattr(record_writer, "open_tail", refuse)
    with hansard.open(tree.home, [tree.config]) as h:
        assert h.sync().problems == 1
    with site(tree.home, tree.config) as running, running.client() as client:
        for path in ("/health", "/overview/cleanup"):
            shown = card(parsed(client, path), "problems").text
            assert f"{TWO}.jsonl could not be kept: <b>Permission</b> denied" in shown
        assert client.get("/api/status").json()["problems"][0]["stage"] == "read"


def test_what_is_left_out_and_what_is_deleted_next(ailing: Site) -> None:
    with ailing.client() as client:
        page = parsed(client, "/health")

    assert f"todos/{ONE}-agent-{ONE}.json" in card(page, "left").text
    cleanup = card(page, "cleanup")
    assert cleanup.each("tbody a", "href") == [f"/sessions/{TWO}"]
    assert "kept" in cleanup.one("tbody").text


def test_the_check_says_what_doctor_says(client: httpx.Client, demo: Site) -> None:
    page = parsed(client, "/health/check")
    with hansard.open(demo.settings.home, demo.settings.roots) as h:
        found = h.doctor().findings

    shown = [item.text for item in page.all("ul.findings li")]
    assert sorted(shown) == sorted(" ".join(f"{one.subject} {one.text} {one.level}".split()) for one in found)


@pytest.mark.parametrize(
    ("levels", "kind", "words"),
    [
        (("ok", "ok"), "ok", "No problems found"),
        (("ok", "note"), "note", "No problems found"),
        (("warning", "ok"), "warning", "No problems, 1 warning"),
        (("warning", "warning", "error", "error"), "error", "2 problems found"),
        (("error",), "error", "1 problem found"),
    ],
)
def test_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, levels: tuple[str, ...], kind: str, words: str
) -> None:
    found = Diagnosis(tuple(Finding(level, "store", f"<{level}>") for level in levels), (), ())
    monkeypatch.setattr(Hansard, "doctor", lambda _: found)
    with site(tmp_path / "home") as running, running.client() as client:
        page = parsed(client, "/health/check")

    verdict = page.one("p.verdict")
    assert (verdict["class"], verdict.text) == (f"verdict {kind}", words)
    assert len(page.all("li")) == len(levels)


def test_who_asks_meanwhile_gets_the_same_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []

    def checked(_: Any) -> Diagnosis:
        times.append(1)
        return Diagnosis((), (), ())

    monkeypatch.setattr(Hansard, "doctor", checked)
    monkeypatch.setattr("hansard.web.pages.health._CHECK_SECONDS", 1e9)
    with site(tmp_path / "home") as running, running.client() as client, ThreadPoolExecutor(6) as pool:
        running.app.state.cache = AnswerCache(long=0)
        answers = list(pool.map(lambda _: client.get("/health/check").status_code, range(6)))

    assert answers == [200] * 6
    assert len(times) == 1


def test_a_store_that_was_never_synced_is_told_of(tmp_path: Path) -> None:
    with site(tmp_path / "home") as running, running.client() as client:
        page = parsed(client, "/health")
        assert "No source directory is configured" in card(page, "sources").text
        assert "never" in card(page, "kept").text
        assert "not created yet" in parsed(client, "/health/check").text


@pytest.mark.parametrize("path", ["/health?x=1", "/health/check?x=1"])
def test_unknown_parameters_are_refused(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_check_comes_after_the_page(ailing: Site, chromium: Browser, width: int, scheme: str) -> None:
    with ailing.opened(chromium, "/health", width=width, color_scheme=scheme) as watched:
        watched.page.locator("#check .findings li").first.wait_for()
        watched.until("!document.getElementById('check').hasAttribute('aria-busy')")
        watched.page.keyboard.press("j")
        watched.until("document.activeElement.closest('table') !== null")
        watched.until("document.documentElement.scrollWidth <= innerWidth")
        ailing.check(watched)


def test_a_check_that_fails_says_so(ailing: Site, chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    from hansard.errors import StoreCorrupt

    def broken(_: Any) -> Diagnosis:
        raise StoreCorrupt("index.db is <i>damaged</i>: run `hansard rebuild`")

    monkeypatch.setattr(Hansard, "doctor", broken)
    monkeypatch.setattr("hansard.web.pages.health._CHECK_SECONDS", 1e-6)
    with ailing.opened(chromium, "/health") as watched:
        watched.page.locator("#check .verdict.error").wait_for()
        expect(watched.page.locator("#check")).to_contain_text("<i>damaged</i>")
        watched.complaints[:] = [text for text in watched.complaints if "500" not in text]
        ailing.check(watched)


def test_hostile_details_run_nothing(hostile: Site, chromium: Browser) -> None:
    with hostile.opened(chromium, "/health") as watched:
        watched.page.locator("#check .findings li").first.wait_for()
        watched.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        hostile.check(watched)


def test_open_secrets_are_listed_with_their_places(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude", tmp_path / "home")
    tree.write(main_path(ONE), [user(ONE, "u1", f"Use {TOKEN} for the push.")])
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
        h.scan_secrets()
        (secret,) = h.secrets().secrets
    with site(tree.home, tree.config) as running, running.client() as client:
        page = client.get("/health").text
        assert f'<a href="/health/secrets/{secret.secret_id}">{secret.secret_id[:8]}</a>' in page
        places = client.get(f"/health/secrets/{secret.secret_id}").text
    assert '<th scope="col">Session</th>' in places
    assert f'<a href="/sessions/{ONE}?at=' in places
    assert TOKEN not in page + places
