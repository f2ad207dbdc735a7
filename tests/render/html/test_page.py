from __future__ import annotations

import base64
import hashlib
import re
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.model.display import Diff, Display, DisplayThread, Item, Plain, Prose, Turn
from hansard.render.html import page
from hansard.render.html.document import document, fill_template
from hansard.render.html.threads import item_id
from tests.render.html.reading import Read, read
from tests.render.html.stubs import item, long_turns, session, tree, turn
from tests.render.payloads import PAYLOADS

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from tests.recordings import History

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def all_items(thread: DisplayThread) -> Iterator[Item]:
    for one in thread.turns:
        for said in one.items:
            yield said
            if said.thread is not None:
                yield from all_items(said.thread)


def everything(display: Display) -> list[Item]:
    return [said for thread in (display.thread, *display.others) for said in all_items(thread)]


def drawn(store: Hansard, about: Session) -> Read:
    return read("".join(page(store.read(about), now=NOW)))


def place(identity: str) -> str:
    return identity.partition("~")[0]


def test_every_item_of_the_hard_session_is_in_its_page_once_and_in_order(hard: tuple[Hansard, Session]) -> None:
    store, about = hard
    display = store.read(about).display()
    found = drawn(store, about)
    assert sorted(found.items) == sorted(item_id(said.anchor) for said in everything(display))
    own = {item_id(said.anchor) for one in display.thread.turns for said in one.items}
    assert [name for name in found.items if name in own] == [
        item_id(said.anchor) for one in display.thread.turns for said in one.items
    ]


def test_every_thread_says_what_is_not_shown(hard: tuple[Hansard, Session]) -> None:
    store, about = hard
    display = store.read(about).display()
    text = drawn(store, about).text
    threads = [display.thread, *display.others, *(said.thread for said in everything(display) if said.thread)]
    for thread in threads:
        total = sum(thread.not_shown.values())
        assert not total or f"Not shown: {total:,} record" in text
    assert len(threads) > 4


def test_the_page_tells_what_the_session_was(hard: tuple[Hansard, Session]) -> None:
    store, about = hard
    found = drawn(store, about)
    for said in (about.title, about.session_id, about.branch, *about.models, f"{about.prompts} prompts", "at least $"):
        assert said in found.text
    assert {"prompt", "reply", "thinking", "tool", "compaction", "branch", "agent", "diff", "console"} <= found.classes


def test_items_of_real_sessions_are_all_in_their_pages(histories: dict[str, History]) -> None:
    seen = 0
    with hansard.open(histories["real clients"].store) as store:
        for about in store.sessions(limit=None, debris=True).sessions[::3]:
            display = store.read(about).display()
            found = drawn(store, about)
            assert sorted(map(place, found.items)) == sorted(item_id(said.anchor) for said in everything(display))
            seen += len(found.items)
    assert seen > 100


def test_a_page_comes_in_pieces_and_needs_no_memory_of_its_length() -> None:
    asked: list[int] = []

    def turns(number: int) -> Iterator[Turn]:
        for one in long_turns(number, 10):
            asked.append(one.number)
            yield one

    pieces = page(tree(turns(3)))
    for piece in pieces:
        if 'id="t1"' in piece:
            break
    assert asked == [1]
    next(pieces)
    assert asked == [1]

    def peak(number: int) -> int:
        tracemalloc.start()
        try:
            length = sum(map(len, page(tree(long_turns(number, 10)))))
            assert length > number * 2000
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(400) < peak(100) + 300 * 5000  # an id for each item and a heading for each turn, no more


def test_the_policy_names_the_style_and_the_script_by_their_digests_and_allows_nothing_else() -> None:
    html = "".join(page(tree([turn(1, item())])))
    found = read(html)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(found.inline[kind].encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert set(rules) == {"default-src", "style-src", "script-src", "img-src", "base-uri", "form-action"}
    assert found.tags["script"] == found.tags["style"] == 1
    assert "{{" not in html.replace(found.inline["script"], "")


def test_a_gap_in_a_value_stays_as_it_is() -> None:
    html = "".join(
        document(
            "index.html",
            ["base.css"],
            ["common.js"],
            {"title": "{{style}}", "totals": "", "sessions": ["{{script}}"], "footer": ""},
        )
    )
    assert "<title>{{style}}</title>" in html
    assert html.count("{{script}}") == 1
    with pytest.raises(KeyError):
        list(fill_template("index.html", {}))


def test_payloads_in_every_place_of_a_transcript_are_only_text(hostile: tuple[Hansard, Session]) -> None:
    store, about = hostile
    found = drawn(store, about)
    assert sorted(found.items) == sorted(item_id(said.anchor) for said in everything(store.read(about).display()))
    assert "img" not in found.tags
    assert found.text.count("window.hacked=1") > 5_000


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_in_every_field_of_a_session_and_an_item_are_only_text(payload: str) -> None:
    words = {name: payload for name in session().__struct_fields__ if isinstance(getattr(session(), name), str)}
    lists = dict.fromkeys(
        ("models", "branches", "versions", "unpriced_models", "pull_requests", "tags", "notes"), (payload,)
    )
    said = item(
        payload,
        payload,
        Plain(payload),
        Prose(payload),
        title=payload,
        subject=payload,
        model=payload,
        uuid=payload,
        transcript=payload,
        results=(Diff(payload, payload),),
        forks=(2,),
    )
    values: dict[str, Any] = {**words, **lists, "api_messages": 1, "started_at": NOW}
    about = tree([turn(1, said)], not_shown={payload: 2}, **values)
    found = read("".join(page(about, title=payload, home="index.html", now=NOW)))
    assert found.tags["script"] == found.tags["style"] == 1
    assert "img" not in found.tags
    assert found.items == [item_id(payload)]


def test_anchors_become_ids_that_stay_apart() -> None:
    names = ["1", "1.2", "agent-7-1", "a b", "a\u00a0b", "a<b", "a-b", "x" * 300, "x" * 301, '"', "'", ""]
    ids = [item_id(name) for name in names]
    assert len(set(ids)) == len(names)
    assert all(re.fullmatch(r"m[A-Za-z0-9_.-]*", name) for name in ids)
    assert item_id("1.2") == "m1.2"


def test_a_subagent_that_is_shown_twice_has_its_own_ids_in_both_places() -> None:
    inner = DisplayThread(None, (turn(1, item("agent-1")),), {})
    calls = [item(str(number), "tool", title="Task", thread=inner) for number in range(2)]
    found = read("".join(page(tree([turn(1, *calls)]))))
    assert sorted(found.items) == ["m0", "m1", "magent-1", "magent-1~2"]


def test_what_was_replaced_is_folded_and_can_be_switched_to() -> None:
    turns = [
        turn(1, item("1", "prompt", Plain("first"))),
        turn(2, item("2", "prompt", Plain("taken back"), branch=1), item("3", branch=1)),
        turn(3, item("4", "prompt", Plain("instead"), forks=(1,))),
        turn(4, item("5", "prompt", Plain("again")), item("6", branch=2), item("7", forks=(2,))),
    ]
    html = "".join(page(tree(turns)))
    found = read(html)
    assert {"b1", "b2"} <= set(found.ids)
    assert {"#b1", "#b2"} <= set(found.hrefs)
    assert re.search(
        r'<details class="branch" id="b1">(?:(?!</details>).)*id="m2"(?:(?!</details>).)*id="m3"', html, re.DOTALL
    )
    assert re.search(
        r'<details class="branch" id="b2">(?:(?!</details>).)*id="m6".*?</details>.*?id="m7"', html, re.DOTALL
    )
    assert html.index("</details>", html.index('id="m3"')) < html.index('id="m4"')


def test_a_session_of_which_only_subagents_are_left_shows_them() -> None:
    lost = DisplayThread(None, (turn(1, item("agent-1", "reply", Prose("found again"))),), {"mode": 3})
    found = read("".join(page(tree(None, others=[lost]))))
    assert found.items == ["magent-1"]
    assert "found again" in found.text
    assert "Not shown: 3 records" in found.text
    assert "Only subagents of this session remain" in found.text


def test_small_changes_and_errors_are_open_and_the_rest_is_folded() -> None:
    def opened(said: Item) -> bool:
        return "<details open>" in "".join(page(tree([turn(1, said)]))).partition("<main")[2].partition("</main>")[0]

    change = "@@ -1 +1 @@\n" + "\n".join(f"+line {number}" for number in range(30))
    assert opened(item("1", "tool", title="Edit", results=(Diff(change),)))
    assert not opened(item("1", "tool", title="Edit", results=(Diff(change * 3),)))
    assert opened(item("1", "tool", title="Bash", results=(Plain("no"),), is_error=True))
    assert not opened(item("1", "tool", title="Bash", results=(Plain("yes"),)))
    assert opened(item("1", "tool", title="ExitPlanMode", results=(Plain("the plan"),)))


def test_the_moment_it_was_written_is_told_only_where_it_is_given() -> None:
    assert "Written by Hansard." in "".join(page(tree()))
    assert "2026-06-01 12:00" in "".join(page(tree(), now=NOW))
    assert "".join(page(tree())) == "".join(page(tree()))
