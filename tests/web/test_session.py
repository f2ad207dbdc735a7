"""The page of a session over HTTP: all of it in windows, nothing beyond its bounds, lines as they are."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, timedelta
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from benchmarks.long_session import write_long_session
from hansard.render.format import timedelta_text
from hansard.render.html import page
from hansard.thread.store import LONGEST
from hansard.web.pages.session.fragments import NEXT
from hansard.web.pages.session.raw import SHOWN
from hansard.web.pages.session.thread_html import LONGEST_TEXT
from tests.sync import making
from tests.sync.making import agent_path, assistant, call, entry, main_path, result, session, user
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx

A, B, C = session(1), session(2), session(3)
HARD = "6513270e"  # the demo session that has everything in it
LONG = 1_500


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A session with lines and texts that are too long, one of which only a subagent is left, and one in a strange place."""
    place = tmp_path_factory.mktemp("web-odd")
    tree = making.Tree(place / "claude", place / "home")
    huge, long = "y" * (LONGEST + 5), "z" * (LONGEST_TEXT + 123)
    tree.write(
        main_path(A),
        [
            user(A, "u1", "look"),
            assistant(A, "a1", "m1", [call("t1", "Bash", command="cat")], 1, "u1"),
            result(A, "r1", "t1", huge, 2),
            assistant(A, "a2", "m2", [call("t2", "Bash", command="cat")], 3, "r1"),
            result(A, "r2", "t2", long, 4),
            {"type": "queue-operation", "operation": "enqueue", "timestamp": making.at(5), "sessionId": A},
            assistant(A, "a3", "m3", long, 5, "r2"),
            user(A, "u2", "and now?", 6, "a3"),
        ],
    )
    tree.write(
        agent_path(B, "a1b2"), [user(B, "s1", "go", isSidechain=True), assistant(B, "s2", "m9", "gone", 1, "s1")]
    )
    tree.write(
        main_path(C),
        [entry("user", C, "c1", cwd="/tmp/it's here; $(rm -rf)", message={"role": "user", "content": "hi"})],
    )
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
    with site(tree.home, tree.config) as running:
        yield running


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str, Path]]:
    """A session of many records, its id and its file."""
    place = tmp_path_factory.mktemp("web-long")
    name = str(write_long_session(str(place / "claude"), str(LONG), "3")["session"])
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    file = next((place / "claude").rglob(f"{name}.jsonl"))
    with site(place / "home", place / "claude") as running:
        yield running, name, file


def engine(running: Site) -> hansard.Hansard:
    return hansard.open(running.settings.home, running.settings.roots)


def ids(text: str) -> list[str]:
    return re.findall(r'<(?:article|div) class="item [^"]*" id="([^"]+)"', text)


def attributes(text: str) -> dict[str, str]:
    opening = re.search(r'<div class="window"([^>]*)>', text)
    assert opening is not None
    return dict(re.findall(r'data-([a-z]+)="([^"]*)"', opening[1]))


def asked(client: httpx.Client, path: str, **more: Any) -> str:
    answer = client.get(path, params=more)
    assert answer.status_code == 200, answer.text
    return answer.text


def windows(client: httpx.Client, name: str, **thread: Any) -> Iterator[str]:
    """The windows of a thread, from the page's own on."""
    text = asked(client, f"/sessions/{name}", **thread)
    while True:
        yield text
        until = attributes(text)["until"]
        if not until:
            return
        text = asked(client, f"/sessions/{name}/turns", **thread, **{"from": until})


def agents(client: httpx.Client, name: str, text: str, seen: set[str]) -> Iterator[str]:
    """What the subagents did that a text names, and those that they made."""
    for agent in re.findall(r'<details class="agent" data-agent="([^"]+)"', text):
        if agent in seen:
            continue
        seen.add(agent)
        start = "0"
        while start:
            inner = asked(client, f"/sessions/{name}/agent", agent=agent, **{"from": start})
            yield inner
            yield from agents(client, name, inner, seen)
            more = re.search(r'class="agent-more"><a [^>]*data-from="(\d+)"', inner)
            start = more[1] if more else ""


def test_windows_and_subagents_put_together_show_every_item_of_the_exported_page(
    demo: Site, client: httpx.Client
) -> None:
    with engine(demo) as h:
        for about in h.sessions(limit=None).sessions:
            exported = ids("".join(page(h.read(about), zone=UTC)))
            name, seen = about.session_id, set[str]()
            found = [
                one
                for text in windows(client, name)
                for one in (*ids(text), *(item for inner in agents(client, name, text, seen) for item in ids(inner)))
            ]
            plain = [one for one in exported if "~" not in one]

            assert sorted(found) == sorted(plain), about.title


def test_from_the_end_back_there_is_the_same(long: tuple[Site, str, Path]) -> None:
    running, name, _ = long
    with running.client() as client:
        forward = [one for text in windows(client, name) for one in ids(text)]
        text = asked(client, f"/sessions/{name}", end=1)
        back = ids(text)
        assert attributes(text)["until"] == ""
        while (start := attributes(text)["from"]) != "0":
            text = asked(client, f"/sessions/{name}/turns", until=start)
            back = ids(text) + back

    assert back == forward
    assert len(forward) == len(set(forward)) > LONG / 2


def test_windows_are_small_however_long_the_session_is(long: tuple[Site, str, Path]) -> None:
    running, name, file = long
    with running.client() as client:
        for number, text in enumerate(windows(client, name)):
            assert len(ids(text)) <= NEXT.records
            assert len(text) < file.stat().st_size / 2
            assert number < LONG / 10
        last = file.stat().st_size - 10
        deep = asked(client, f"/sessions/{name}/turns", at=last)

    told = attributes(deep)
    assert int(told["from"]) <= last
    assert told["until"] == ""
    assert int(told["turns"]) == int(told["last"]) > 30


def test_a_place_is_opened_with_its_window_and_a_result_with_its_call(long: tuple[Site, str, Path]) -> None:
    running, name, file = long
    offset = 0
    places: dict[str, int] = {}
    calls: list[tuple[int, int]] = []
    for line in file.read_bytes().splitlines(keepends=True):
        content = json.loads(line)["message"]["content"]
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use":
                places[block["id"]] = offset
            if block["type"] == "tool_result":
                calls.append((offset, places[block["tool_use_id"]]))
        offset += len(line)
    with running.client() as client:
        for at, call_at in calls[:: len(calls) // 9]:
            text = asked(client, f"/sessions/{name}", at=at)
            assert attributes(text)["target"] == str(call_at)
            assert f'id="m{call_at}"' in text


def test_the_outline_names_every_turn_as_the_exported_page_does(demo: Site, client: httpx.Client) -> None:
    row = re.compile(
        r'<li class="([^"]+)"><a href="[^"]*#t(\d+)"[^>]*><span class="number">\d+</span> <span class="text">(.*?)</span>'
    )
    with engine(demo) as h:
        about = h.session(HARD)
        exported = "".join(page(h.read(about), zone=UTC))
    shown = asked(client, f"/sessions/{about.session_id}")

    assert row.findall(shown) == row.findall(exported)
    assert len(row.findall(shown)) == 20


def test_a_very_long_session_gets_its_outline_and_its_course_afterwards(
    long: tuple[Site, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, name, _ = long
    monkeypatch.setattr("hansard.web.pages.session.thread_html.OUTLINED", 10)
    monkeypatch.setattr("hansard.thread.thread.QUICK_TIMELINE", 10)
    monkeypatch.setattr(running.app.state.engines.threads, "_values", OrderedDict())
    with running.client() as client:
        shown = asked(client, f"/sessions/{name}", end=1)
        fetched = asked(client, f"/sessions/{name}/course")
        known = asked(client, f"/sessions/{name}", end=1)
        whole = asked(client, f"/sessions/{name}", whole=1)

    total = int(attributes(shown)["turns"])
    assert shown.count('<span class="number">') == 10
    for text in (shown, known):  # the outline is fetched at once, the chart when it is opened
        assert 'tabindex="-1" data-fetch>' in text
        assert "<svg" not in text.partition('id="course"')[2].partition('id="bar"')[0]
    assert known.count('<span class="number">') == 10
    assert 'tabindex="-1" data-fetch>' not in whole
    for text in (fetched, whole):
        assert text.count('<span class="number">') == total
        assert '<svg class="timeline"' in text
    assert 0 < fetched.count("<rect") <= 401


def test_the_head_tells_what_the_session_was_and_how_to_go_on(demo: Site, client: httpx.Client, odd: Site) -> None:
    with engine(demo) as h:
        about = h.session(HARD)
    shown = unescape(asked(client, f"/sessions/{about.session_id}"))
    with odd.client() as other:
        strange = unescape(asked(other, f"/sessions/{C}"))

    assert f'<h1 dir="auto" data-title-of="{about.session_id}" title="{about.title}">{about.title}</h1>' in shown
    assert f'data-remarks="{about.session_id}"' in shown
    assert "16 prompts, 47 tool calls" in shown
    assert 'href="https://github.com/mira/tidewater/pull/7"' in shown
    assert f"data-copy=\"cd '{about.cwd}' && claude --resume {about.session_id}\"" in shown
    assert f"cd '/tmp/it'\"'\"'s here; $(rm -rf)' && claude --resume {C}" in strange


def test_the_head_says_where_a_fork_comes_from_and_names_git_branches_and_files_for_what_they_are(
    tmp_path: Path,
) -> None:
    tree = making.Tree(tmp_path / "claude", tmp_path / "home")
    lines = [user(A, "u1", "look"), assistant(A, "a1", "m1", "seen", 1, "u1"), user(A, "u2", "more", 2, "a1")]
    tree.write(main_path(A), lines)
    copied = [{**line, "sessionId": B, "forkedFrom": {"sessionId": A, "messageUuid": line["uuid"]}} for line in lines]
    tree.write(main_path(B), [*copied, user(B, "u3", "elsewhere", 3, "u2")])
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
    with site(tree.home, tree.config) as running, running.client() as client:
        fork, parent = (asked(client, f"/sessions/{name}") for name in (B, A))

    def origin(text: str) -> str:
        return text.partition('<p class="origin">')[2].partition("</p>")[0]

    assert re.search(rf'Forked[^<]* from <a href="/sessions/{A}"', origin(fork))
    assert "Forked" not in origin(parent)
    for text in (fork, parent):
        assert "<dt>Branch</dt>" not in text
        assert ">live" not in text.partition('id="facts"')[2].partition("</dl>")[0]


def test_subagents_are_a_tree_with_what_each_cost(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        about = h.session(HARD)
        known = h.agents(about.session_id)
    shown = asked(client, f"/sessions/{about.session_id}")

    rows = re.findall(r'<li class="depth-(\d)"><a href="[^"]*\?agent=([^"]+)"><b>', shown)
    assert sorted(agent for _, agent in rows) == sorted(agent.agent_id for agent in known)
    assert [depth for depth, _ in rows][:3] == ["0", "1", "2"]
    for agent in known:
        own = asked(client, f"/sessions/{about.session_id}", agent=agent.agent_id)
        assert attributes(own)["first"] == "1"
        assert all(one.startswith(f"m{agent.agent_id}-") for one in ids(own))


def test_a_branch_can_be_read_instead_of_what_the_session_went_on_with(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id
    shown, other = ("".join(windows(client, name, **thread)) for thread in ({}, {"branch": 1}))

    replaced, stays = "This prompt will be taken back.", "This prompt replaced it."
    assert ids(shown) == ids(other)
    folded = re.compile(r'<details class="branch".*?</details>\s*(?=<section|<details|</div>)', re.DOTALL)
    assert stays in folded.sub("", shown.partition('id="windows"')[2])
    assert f">{replaced}<" not in folded.sub("", shown.partition('id="windows"')[2])
    assert f">{replaced}<" in folded.sub("", other.partition('id="windows"')[2])
    assert ">Main line<" in other


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/sessions/nobody", 404),
        ("/sessions/nobody/turns", 404),
        ("/sessions/nobody/news", 404),
        ("/sessions/nobody/raw?offset=0", 404),
        ("/sessions/nobody/export", 404),
        ("/sessions/nobody/related", 404),
        ("/sessions/HARD?at=x", 400),
        ("/sessions/HARD?at=-1", 400),
        ("/sessions/HARD?at=5&turn=2", 400),
        ("/sessions/HARD?color=red", 400),
        ("/sessions/HARD?branch=77", 404),
        ("/sessions/HARD?agent=nobody", 404),
        ("/sessions/HARD/agent", 400),
        ("/sessions/HARD/turns?from=99999999999999999999", 400),
        ("/sessions/HARD/turns?at=999999999", 200),
        ("/sessions/HARD/turns?turn=999999", 200),
        ("/sessions/HARD/turns?until=0", 200),
        ("/sessions/HARD/export?format=exe", 400),
        ("/sessions/HARD/raw?offset=999999999", 404),
        ("/sessions/HARD/raw?offset=3&form=x", 400),
        ("/sessions/HARD/text?at=0&item=77&part=0", 404),
        ("/sessions/HARD/..%2f..%2fetc", 404),
    ],
)
def test_what_cannot_be_asked_is_refused(demo: Site, client: httpx.Client, path: str, status: int) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id

    assert client.get(path.replace("HARD", name)).status_code == status


def test_the_beginning_of_an_id_leads_to_the_whole(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id

    answer = client.get(f"/sessions/{name[:8]}?turn=2")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/sessions/{name}?turn=2"


def test_a_raw_line_is_the_bytes_of_its_line(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        about = h.session(HARD)
        logs = {log.path: b"".join(h.cat(log.path)) for log in h.transcripts(about.session_id) if log.current}
    place = f"/sessions/{about.session_id}/raw"
    assert len(logs) > 3
    for path, content in logs.items():
        offset = 0
        for line in content.split(b"\n")[:60]:
            if line:
                answer = client.get(place, params={"transcript": path, "offset": offset, "form": "bytes"})
                kept = answer.content
                assert kept == line[: len(kept)]  # the first of several records that are glued together
                assert kept == line or line[len(kept) :].lstrip()[:1] == b"{"
                assert answer.headers["content-disposition"].startswith("attachment")
            offset += len(line) + 1

    path, content = next(iter(logs.items()))
    offset = content.index(b'{"parentUuid"')
    for inside in (offset, offset + 9):
        shown = asked(client, place, transcript=path, offset=inside)
        assert content[offset : offset + 120].decode() in unescape(shown)
        assert asked(client, place, transcript=path, offset=inside, form="piece").lstrip().startswith("<div")


def test_another_sessions_log_is_refused(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id
        foreign = next(log.path for log in h.transcripts() if log.session_id not in ("", name))
    for path in (foreign, "../../../etc/passwd", "/etc/passwd", f"{foreign}\\..\\x", "projects", "history.jsonl"):
        answer = client.get(f"/sessions/{name}/raw", params={"transcript": path, "offset": 0})
        assert answer.status_code == 404, path


def test_lines_and_texts_that_are_too_long_are_named_and_linked(odd: Site) -> None:
    with odd.client() as client:
        texts = list(windows(client, A))
        shown = "".join(texts)
        assert len(shown) < 400_000
        assert "too many to show here" in shown
        assert [len(ids(text)) for text in texts] != []
        with engine(odd) as h:
            content = b"".join(h.cat(A))
        offset = content.index(b'"r1"')
        raw = asked(client, f"/sessions/{A}/raw", offset=offset)
        assert SHOWN < len(raw) < 3 * SHOWN
        line = client.get(f"/sessions/{A}/raw", params={"offset": offset, "form": "bytes"})
        assert len(line.content) > LONGEST
        assert line.content in content

        links = [unescape(link) for link in re.findall(r'class="cut">.*?<a href="([^"]+)"', shown)]
        assert len(links) == 2
        for link in links:
            answer = client.get(link)
            assert answer.text == "z" * (LONGEST_TEXT + 123)
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_line_that_is_no_record_is_found_by_its_first_byte_only(odd: Site) -> None:
    with engine(odd) as h:
        content = b"".join(h.cat(A))
    offset = content.index(b'{"type":"queue-operation"')
    with odd.client() as client:
        line = client.get(f"/sessions/{A}/raw", params={"offset": offset, "form": "bytes"})
        inside = client.get(f"/sessions/{A}/raw", params={"offset": offset + 2, "form": "bytes"})

    assert line.content == content[offset : content.index(b"\n", offset)]
    assert inside.status_code == 404


def test_a_session_of_which_only_subagents_are_left_lists_them(odd: Site) -> None:
    with odd.client() as client:
        shown = asked(client, f"/sessions/{B}")
        assert "Only subagents of this session remain" in shown
        assert f'href="/sessions/{B}?agent=a1b2"' in shown
        assert "gone" in asked(client, f"/sessions/{B}", agent="a1b2")
        assert client.get(f"/sessions/{B}/turns").status_code == 404
        assert client.get(f"/sessions/{B}/export?format=jsonl").status_code == 404
        assert client.get(f"/sessions/{B}/export?format=html").status_code == 200


def test_a_session_goes_out_as_a_file_in_every_format(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        about = h.session(HARD)
        transcript = b"".join(h.cat(about.session_id))
    found = {
        form: client.get(f"/sessions/{about.session_id}/export", params={"format": form})
        for form in ("html", "markdown", "json", "jsonl")
    }

    for form, ending in (("html", "html"), ("markdown", "md"), ("json", "json"), ("jsonl", "jsonl")):
        stated = found[form].headers["content-disposition"]
        assert re.fullmatch(rf'attachment; filename="[a-z0-9-]+\.{ending}"', stated)
    assert found["jsonl"].content == transcript
    assert found["html"].text.startswith("<!doctype html>")
    assert found["html"].text.rstrip().endswith("</html>")
    assert json.loads(found["json"].content)["session"]["session_id"] == about.session_id
    assert about.title in found["markdown"].text


def test_news_are_nothing_until_something_changed(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id
    mark = attributes(asked(client, f"/sessions/{name}"))["fingerprint"]

    assert client.get(f"/sessions/{name}/news", params={"known": mark, "from": 0}).status_code == 204
    told = asked(client, f"/sessions/{name}/news", known="another", outlined=19, **{"from": 0})
    assert f'data-fingerprint="{mark}"' in told
    assert told.count('<span class="number">') == 2
    assert 'id="facts"' in told
    assert ids(told)


def test_searching_in_a_session_finds_places_of_this_session(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session(HARD).session_id
    found = asked(client, f"/sessions/{name}/find", q="prompt replaced", bare=1)
    page_of_all = client.get(f"/sessions/{name}/find", params={"q": "prompt"})

    assert "<mark>" in found
    assert set(re.findall(r'href="/sessions/([^?"]+)', found)) == {name}
    assert "No match in this session" in asked(client, f"/sessions/{name}/find", q="zebrafish quokka", bare=1)
    assert page_of_all.status_code == 303
    assert page_of_all.headers["location"].startswith("/search?q=session%3A")


def test_sessions_like_this_one_are_listed(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        name = h.session("Cross-compile for the probe").session_id
        alike = h.related(name, limit=3)
    found = asked(client, f"/sessions/{name}/related")

    assert alike
    for one in alike:
        assert f'href="/sessions/{one.session.session_id}"' in found


def test_matches_are_those_of_the_thread(demo: Site, client: httpx.Client) -> None:
    with engine(demo) as h:
        session = h.session(HARD).session_id
    size = len(client.get(f"/api/sessions/{session}/raw").content)
    for query in ("zzznothing OR is:error", "is:error", "a"):
        answer = client.get(f"/sessions/{session}/matches", params={"q": query, "branch": 1})
        assert answer.status_code == 200
        assert all(offset < size for offset in answer.json()["offsets"])
    assert client.get(f"/sessions/{session}/matches", params={"q": "zzznothing OR yyynothing"}).json()["offsets"] == []


def test_the_head_has_the_active_and_the_elapsed_time(demo: Site, client: httpx.Client) -> None:
    with hansard.open(demo.settings.home) as h:
        longest = max(
            h.sessions(limit=None).sessions,
            key=lambda one: one.ended_at - one.started_at if one.ended_at else timedelta(),  # type: ignore[operator]
        )
        active = h.active_time(longest.session_id)
    assert longest.started_at is not None
    assert longest.ended_at is not None
    elapsed = longest.ended_at - longest.started_at
    assert timedelta() < active < elapsed / 2
    page = client.get(f"/sessions/{longest.session_id}").text
    assert f"{timedelta_text(active)} active, {timedelta_text(elapsed)} elapsed" in page


def test_a_second_transcript_of_a_session_is_named_and_its_hits_open_its_lines(tmp_path: Path) -> None:
    tree = making.Tree(tmp_path / "claude", tmp_path / "home")
    first = user(A, "u1", "look")
    aside = {**user(A, "s1", "Look aside.", 2), "isSidechain": True}  # a subagent inside the file
    tree.write(main_path(A), [first, aside, user(A, "u2", "more", 2, "u1"), user(A, "u3", "and more", 3, "u2")])
    other = f"projects/-other/{A}.jsonl"
    tree.write(other, [first, user(A, "u9", "walrus", 4, "u1")])
    with hansard.open(tree.home, [tree.config]) as h:
        h.sync()
        assert h.session(A).agents == 1
    with site(tree.home, tree.config) as running, running.client() as client:
        shown, found = asked(client, f"/sessions/{A}"), client.get("/search", params={"q": "walrus"}).text
        (place,) = (unescape(href) for href in re.findall(r'data-row>\s*<a href="([^"]+)"', found))
        line = client.get(place)

    assert "Another transcript" in shown
    assert "1 message that is not shown here" in shown
    assert f"--transcript {tree.config.as_posix()}/{other}" in unescape(shown)
    assert (line.status_code, "walrus" in line.text) == (200, True)
