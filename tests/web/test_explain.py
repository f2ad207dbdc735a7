"""Explanations: a figure's messages, their lines, rates and arithmetic, each where it stands."""

from __future__ import annotations

import html
import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

import hansard
from hansard.cli.app import hansard as command
from hansard.render.format import exact
from tests.sync.making import FOLDER, assistant, raw, session, user
from tests.web.serving import Site, site
from tests.web.sheets import exactly

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser

    from hansard.engine import Hansard


def test_the_command_beside_an_explanation_gives_the_same(
    client: httpx.Client, demo: Site, engine: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = next(row for row in engine.usage(by="project,tool").rows if row.key["tool"] is None)
    params = {"by": "project,tool", "key": [row.key["project"], ""], "q": "-model:nothing", "limit": "3"}
    page = client.get("/explain", params=params).text
    found = re.search(r'data-copy="(hansard explain [^"]*)"', page)
    assert found is not None
    words = shlex.split(html.unescape(found[1]))[1:]
    monkeypatch.setenv("TZ", "UTC")

    told = CliRunner().invoke(
        command, ["--home", demo.settings.home, "--root", demo.settings.roots[0], "--no-sync", *words]
    )

    assert told.exit_code == 0, told.output
    assert row.cost_usd is not None
    assert f"exactly {exact(row.cost_usd)}" in told.output
    assert exactly(page) == row.cost_usd


def test_an_explanation_shows_messages_lines_and_rates(client: httpx.Client, engine: Hansard) -> None:
    found = engine.explain(by=("total",), limit=20)
    page = client.get("/explain?by=total").text
    text = html.unescape(page)

    assert found.figure.cost_usd is not None
    assert f"exactly <span data-exact>{exact(found.figure.cost_usd)}</span>" in text
    for message in found.messages:
        assert message.key in text
        assert message.cost_usd is None or exact(message.cost_usd) in text
    assert found.shown.cost_usd is not None
    assert exact(found.shown.cost_usd) in text
    assert found.rest.cost_usd is not None
    assert exact(found.rest.cost_usd) in text
    assert found.shown.cost_usd + found.rest.cost_usd == found.figure.cost_usd
    assert "Show the 100 most expensive" in text
    more = client.get(html.unescape(re.findall(r'href="([^"]+)#messages-title"', page)[0])).text
    assert len(re.findall('<li class="message">', more)) == min(100, found.figure.api_messages)


@pytest.mark.parametrize("kind", ["day", "session", "message", "uuid", "last"])
def test_a_target_is_whatever_the_command_line_takes(client: httpx.Client, engine: Hansard, kind: str) -> None:
    message = engine.explain(by=("total",), limit=1).messages[0]
    target = {
        "day": f"{message.at:%Y-%m-%d}",
        "session": message.session_id,
        "message": message.key,
        "uuid": message.lines[0].uuid,
        "last": "@last",
    }[kind]
    assert target is not None

    answer = client.get("/explain", params={"target": target})

    assert answer.status_code == 200
    assert exactly(answer.text) == engine.explain(target).figure.cost_usd


def test_every_message_leads_to_its_place_and_to_its_bytes(client: httpx.Client, engine: Hansard) -> None:
    found = engine.explain(by=("total",), limit=20)
    page = client.get("/explain?by=total").text
    places = [html.unescape(href) for href in re.findall(r'<a class="there" href="([^"]+)"', page)]
    raws = [html.unescape(href) for href in re.findall(r'href="(/sessions/[^"]+/raw[^"]+)"', page)]

    assert len(places) == len(found.messages)
    for message, href in zip(found.messages, places, strict=True):
        parts = urlsplit(href)
        asked = parse_qs(parts.query)
        assert parts.path.endswith(message.lines[0].session_id)
        assert asked["at"] == [str(message.lines[0].offset)]
        anchor = f"{message.lines[0].agent_id}-" if message.lines[0].agent_id else ""
        assert parts.fragment == f"m{anchor}{message.lines[0].offset}"
        assert client.get(href).status_code == 200
    for href in raws[:10]:
        answer = client.get(href)
        assert answer.status_code == 200
        asked = parse_qs(urlsplit(href).query)
        line = next(
            line
            for message in found.messages
            for line in message.lines
            if line.transcript == asked["transcript"][0] and str(line.offset) == asked["offset"][0]
        )
        assert line.uuid is None or line.uuid in answer.text


def test_figures_without_a_price_say_so(tmp_path: Path) -> None:
    root, one = tmp_path / "claude", session(1)
    path = root / FOLDER / f"{one}.jsonl"
    path.parent.mkdir(parents=True)
    line = assistant(one, "a1", "m1", "Yes.", 1)
    line["message"]["model"] = "unheard-of-1"
    path.write_bytes(raw([user(one, "u1", "Go."), line, assistant(one, "a2", "m2", "Yes.", 2, stop=None)]))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    with site(tmp_path / "home", root) as running, running.client() as client:
        usage = html.unescape(client.get("/usage?range=all&by=model").text)
        alone = html.unescape(client.get("/explain?by=model&key=unheard-of-1").text)
        both = html.unescape(client.get("/explain?by=total").text)

    assert '<p class="figure">?</p>' in alone
    assert "no known cost" in alone
    assert "not in the cost" in alone
    assert "Without a price: unheard-of-1" in usage
    assert '<b class="mark">?</b>' in usage
    assert re.search(r'<p class="figure">\$[\d.]+\+\?</p>', both)
    assert "output is a lower bound" in both


def test_a_session_without_usage_is_no_error(tmp_path: Path) -> None:
    root, one, other = tmp_path / "claude", session(1), session(2)
    folder = root / FOLDER
    folder.mkdir(parents=True)
    (folder / f"{one}.jsonl").write_bytes(raw([user(one, "u1", "Is anybody there?")]))
    (folder / f"{other}.jsonl").write_bytes(raw([user(other, "u1", "Go."), assistant(other, "a1", "m1", "Yes.", 1)]))
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
    with site(tmp_path / "home", root) as running, running.client() as client:
        for asked, words in (
            ({"target": one}, "It has no answer of a model that counts for it."),
            ({"by": "session", "key": one}, "It has no answer of a model that counts for it."),
            ({"target": other, "until": "2001-01-01"}, "Its messages are not in the selection."),
        ):
            answer = client.get("/explain", params=asked)
            assert answer.status_code == 200
            assert "<h1>No usage is recorded</h1>" in answer.text
            assert words in answer.text
        unknown = client.get("/explain", params={"target": "nothing-like-it"})
        assert unknown.status_code == 404
        assert "nothing matches" in unknown.text
        day = client.get("/explain", params={"by": "day", "key": "2001-01-01"})
        assert day.status_code == 404
        assert "no usage on 2001-01-01</p>" in day.text
        assert "--by" not in unknown.text + day.text


def test_the_generations_of_a_shortened_transcript_are_linked(tmp_path: Path) -> None:
    root, one = tmp_path / "claude", session(1)
    path = root / FOLDER / f"{one}.jsonl"
    path.parent.mkdir(parents=True)
    first, last = assistant(one, "a1", "m1", "Yes.", 1), assistant(one, "a2", "m2", "No.", 2)
    whole, cut = raw([user(one, "u1", "Go."), first, last]), raw([last])
    with hansard.open(tmp_path / "home", [root]) as h:
        for content in (whole, cut):
            path.write_bytes(content)
            h.sync()
        lines = [line for message in h.explain(one).messages for line in message.lines]
    assert sorted((line.generation, line.state, line.is_shown) for line in lines) == [
        (1, "rewritten", True),
        (1, "rewritten", True),
        (2, "live", False),
    ]
    with site(tmp_path / "home", root) as running, running.client() as client:
        facts = html.unescape(client.get(f"/sessions/{one}").text)
        assert "shortened on disk" in facts
        assert f"hansard show {one} --generation 2" in facts
        kept = re.findall(r'href="(/api/sessions/[^"]+/raw[^"]+)"', facts)
        assert [client.get(href).content for href in kept] == [cut]

        page = html.unescape(client.get("/explain", params={"target": one}).text)
        places = re.findall(rf'href="/sessions/{one}[?]at=([0-9]+)#', page)
        assert {int(at) for at in places} == {line.offset for line in lines if line.is_shown}
        raws = re.findall(r'href="(/sessions/[^"]+/raw[^"]+)"', page)
        verbatim = {client.get(f"{href}&form=bytes").content for href in raws}
        assert verbatim == set(whole.splitlines()[1:])
        assert sorted("generation=2" in href for href in raws) == [False, False, True]
        assert "(generation 2)" in client.get(next(href for href in raws if "generation=2" in href)).text
        assert client.get(f"/sessions/{one}/raw?generation=3").status_code == 404


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_explanation_fits_every_screen(demo: Site, chromium: Browser, width: int, theme: str) -> None:
    with demo.opened(chromium, "/explain?by=total", width=width, color_scheme=theme) as watched:
        watched.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        watched.until("document.documentElement.scrollWidth <= innerWidth")
        assert watched.run("[...document.querySelectorAll('[style]')].length") == 0
        demo.check(watched)


def test_a_message_is_opened_by_the_keyboard(demo: Site, chromium: Browser) -> None:
    with demo.opened(chromium, "/explain?by=total") as watched:
        page = watched.page
        second = page.locator(".message").nth(1)
        expect(second.locator(".body")).to_be_hidden()
        second.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(second.locator(".body")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/*")
        demo.check(watched)
