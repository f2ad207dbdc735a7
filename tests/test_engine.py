"""The library's answers on the demo history, through the door that every front end uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.errors import NotFound


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    base = tmp_path_factory.mktemp("engine")
    write_history(base / ".claude")
    with hansard.open(base / "store", roots=[base / ".claude"]) as opened:
        opened.sync()
        yield opened


def test_a_store_that_was_never_synced_answers_as_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    with hansard.open(tmp_path / "store", roots=[tmp_path / ".claude"]) as opened:
        assert opened.sessions().sessions == ()
        assert opened.prompts().prompts == ()
        with pytest.raises(NotFound, match="hansard sync"):
            _ = opened.record
    assert not (tmp_path / "store").exists()


def test_pages_hold_every_session_once(store: Hansard) -> None:
    found: list[str] = []
    cursor = None
    while True:
        page = store.sessions(limit=7, cursor=cursor)
        found += [session.session_id for session in page.sessions]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(found) == len(set(found)) == page.total
    assert found == [session.session_id for session in store.sessions(limit=None).sessions]


def test_projects_add_up_to_the_sessions(store: Hansard) -> None:
    everything = store.sessions(limit=None).sessions
    projects = store.projects()
    assert sum(project.sessions for project in projects) == len(everything)
    assert sum(project.output_tokens or 0 for project in projects) == sum(
        session.output_tokens or 0 for session in everything
    )
    assert not [project for project in projects if "/.claude/worktrees/" in project.project]


def test_every_conversation_can_be_read(store: Hansard) -> None:
    for session in store.sessions(limit=None).sessions:
        conversation = store.conversation(session.session_id)
        prompts = [entry for entry in conversation.entries if entry.kind == "prompt"]
        assert len(prompts) == session.prompts
        for agent in conversation.agents:
            assert store.conversation(session.session_id, agent=agent.agent_id).agent_id == agent.agent_id


def test_bytes_come_back_as_the_client_wrote_them(store: Hansard) -> None:
    root = store.roots[0]
    for transcript in store.transcripts():
        source = Path(root.locate(transcript.path)).read_bytes()
        assert b"".join(store.cat(transcript.path)) == source
        assert transcript.size == len(source)


def test_side_files_are_listed_and_read(store: Hansard) -> None:
    root = store.roots[0]
    kinds = {file.kind for file in store.side_files()}
    assert {"plan", "memory", "todo", "task", "tool_result", "agent_meta"} <= kinds
    for file in store.side_files():
        assert store.read_side_file(file) == Path(root.locate(file.path)).read_bytes()
    with_todos = {file.session_id for file in store.side_files(kind="task")}
    assert with_todos
    for session_id in with_todos:
        todos = store.todos(session_id)
        assert todos
        assert all(todo.content and todo.status for todo in todos)


def test_prompts_of_deleted_sessions_are_marked(store: Hansard) -> None:
    prompts = store.prompts(limit=None).prompts
    times = [prompt.at for prompt in prompts if prompt.at is not None]
    assert times == sorted(times, reverse=True)
    lost = [prompt for prompt in prompts if not prompt.session_kept]
    assert lost
    assert all(prompt.source == "history" for prompt in lost)
    assert len(store.prompts(limit=3).prompts) == 3


def test_prompts_that_forks_copied_are_listed_once(store: Hansard) -> None:
    page = store.prompts(limit=None)
    assert page.total == len(page.prompts)
    copied = [prompt for prompt in page.prompts if prompt.copies]
    assert copied
    for prompt in copied:
        assert [other for other in page.prompts if (other.at, other.text) == (prompt.at, prompt.text)] == [prompt]


def test_sessions_like_a_fork(store: Hansard) -> None:
    links = {link for session in store.sessions(limit=None).sessions for link in store.links(session.session_id)}
    fork = next(link for link in links if link.relation == "fork")
    best = store.related(fork.target)[0]
    assert best.session.session_id == fork.source
    assert best.links == ("fork",)


def test_file_changes_agree_with_their_sessions(store: Hansard) -> None:
    changes = store.file_changes()
    assert {change.change for change in changes} >= {"create", "edit"}
    for session in store.sessions(limit=None).sessions:
        own = store.file_changes(session.session_id)
        assert sum(change.added for change in own) == session.lines_added
        assert len({change.path for change in own}) == session.files_changed
    some = changes[0]
    assert some in store.file_changes(path=some.path)


def test_forks_are_linked_both_ways(store: Hansard) -> None:
    links = {link for session in store.sessions(limit=None).sessions for link in store.links(session.session_id)}
    assert {"fork", "branch", "summary", "continued_in"} <= {link.relation for link in links}
    fork = next(link for link in links if link.relation == "fork")
    assert fork in store.links(fork.source)
    assert fork in store.links(fork.target)
