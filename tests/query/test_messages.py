"""Messages by uuid, projects by folder, sessions by pull request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import Ambiguous, NotFound
from tests.mcp.writing import APP, ELSEWHERE, FIRST, OTHER, PULL_REQUEST, SECOND, write_app_history


@pytest.fixture(scope="module")
def h(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    place = tmp_path_factory.mktemp("messages")
    write_app_history(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as opened:
        opened.sync()
        yield opened


def test_a_message_is_found_by_its_uuid(h: Hansard) -> None:
    for entry in h.conversation(FIRST).entries:
        assert entry.uuid is not None
        found = h.find_message(entry.uuid)
        assert (found.session_id, found.transcript, found.offset) == (FIRST, entry.transcript, entry.offset)
    with pytest.raises(NotFound, match="no message matches"):
        h.find_message("00000000-1111")
    with pytest.raises(NotFound, match="at least 8"):
        h.find_message("aaaa")
    with pytest.raises(Ambiguous, match="several messages"):
        h.find_message(FIRST[:13])


def ids(h: Hansard, query: str) -> set[str]:
    return {session.session_id for session in h.sessions(query).sessions}


def test_a_folder_is_no_beginning_of_a_name(h: Hansard) -> None:
    assert ids(h, f"folder:{APP}") == {FIRST, SECOND}
    assert ids(h, f"folder:{APP}/") == {FIRST, SECOND}
    assert ids(h, f"folder:{OTHER}") == {ELSEWHERE}
    assert ids(h, "folder:/home/mira") == {FIRST, SECOND, ELSEWHERE}
    assert {session.session_id for session in h.sessions(folder=APP).sessions} == {FIRST, SECOND}
    assert {hit.session_id for hit in h.search("msgspec", folder=APP).hits} == {FIRST}
    assert h.usage(by="total", folder=OTHER).totals.api_messages == 1
    assert [prompt.session_id for prompt in h.prompts(folder=OTHER).prompts] == [ELSEWHERE]


def test_a_pull_request_is_found_by_its_link_or_the_end_of_it(h: Hansard) -> None:
    for query in (PULL_REQUEST, "mira/app/pull/42", PULL_REQUEST + "/"):
        assert ids(h, f'pr:"{query}"') == {FIRST}
    assert ids(h, "pr:mira/app/pull/4") == set()


def test_excerpts_are_made_of_prepared_text(h: Hansard) -> None:
    (hit, *_) = h.search("narwhal", prepare=str.upper, width=60).hits
    assert "NARWHAL" in hit.snippet
