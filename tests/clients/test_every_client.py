"""What holds for the record and the indexes of every client that comes with Hansard."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hansard
from hansard import clients
from hansard.cli.app import hansard as command
from hansard.clients.entries import Called, Readable
from hansard.clients.generic import NOTHING, GenericClient
from hansard.clients.lines import ParsedLine
from hansard.clients.state import State, load
from hansard.clients.state import dump as dump_state
from hansard.engine import Hansard
from tests.clients.claude_code.mutating import BYTEWISE
from tests.clients.folding import every_line
from tests.clients.histories import HISTORIES, History
from tests.sync.dumping import assert_same, dump

MUTANTS = 300
LOGS = sorted(name for name, history in HISTORIES.items() if history.is_log)
FILES = sorted(name for name, history in HISTORIES.items() if history.is_files)
CRASHED = ("aider", "atif", "cline", "codex", "copilot-chat", "gemini")
"""One client for each way in which a file becomes records: a crash of a sync passes the same code for the others."""
PROJECT = Path(__file__).parents[2]


@pytest.fixture(params=sorted(HISTORIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def history(name: str) -> History:
    return HISTORIES[name]


@pytest.fixture
def root(history: History, tmp_path: Path) -> Path:
    made = tmp_path / history.folder
    made.mkdir()
    history.write(made)
    return made


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Hansard]]:
    """The synced store of each client, made once for all tests that only read it."""
    with ExitStack() as stack:

        @cache
        def synced(name: str) -> Hansard:
            base = tmp_path_factory.mktemp(name)
            root = base / HISTORIES[name].folder
            root.mkdir()
            HISTORIES[name].write(root)
            h = stack.enter_context(hansard.open(base / "home", [root]))
            h.sync()
            return h

        yield synced


@pytest.fixture
def store(stores: Callable[[str], Hansard], name: str) -> Hansard:
    """A store that must not be changed."""
    return stores(name)


@pytest.fixture
def own_store(root: Path, tmp_path: Path) -> Iterator[Hansard]:
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        yield h


def seen(root: Path) -> dict[str, tuple[Any, ...]]:
    """All that can be observed of a directory without opening its files, and their contents."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(root.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        found[str(path)] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino, content)
    return found


def logs(h: Hansard) -> list[tuple[int, str, bytes]]:
    """The transcripts of a store: id, kind, bytes."""
    return [
        (id_, kind, b"".join(h.record.read(id_)))
        for id_, kind in h.reader.rows(
            "SELECT id, kind FROM transcripts WHERE kind NOT IN ('history', 'cast') ORDER BY path"
        )
    ]


def generic(name: str) -> GenericClient:
    client = clients.client_of(name)
    assert isinstance(client, GenericClient)
    return client


def test_every_built_in_client_is_tested() -> None:
    assert set(HISTORIES) == set(clients.BUILT_IN)


def test_the_root_is_recognized(name: str, root: Path) -> None:
    (opened,) = clients.roots.open_roots([str(root)])
    assert opened.client == name


def test_figures(store: Hansard, name: str, history: History) -> None:
    session = store.session(history.session)
    assert (session.client, session.prompts, session.tool_calls) == (name, history.prompts, history.calls)
    totals = store.usage(by="total").totals
    written = totals.cache_write_5m_tokens + totals.cache_write_1h_tokens
    assert (totals.input_tokens, totals.output_tokens, totals.cache_read_tokens, written) == history.tokens


def test_nothing_in_its_history_is_unknown(store: Hansard, name: str) -> None:
    assert store.drift() == ()
    assert generic(name).known_kinds is not None


def test_nothing_in_the_root_changes(root: Path, tmp_path: Path, history: History) -> None:
    before = seen(root)
    with hansard.open(tmp_path / "home", [root]) as h:
        h.sync()
        h.sync()
        list(h.read(history.session).turns())
        h.search(history.word)
        h.doctor()
        h.status()
    assert seen(root) == before


def test_search_show_and_export(store: Hansard, tmp_path: Path, name: str, history: History) -> None:
    root = store.status().roots[0].path
    assert {hit.session_id for hit in store.search(f"{history.word} client:{name} kind:prompt").hits} == {
        history.session
    }
    assert not store.search(f"{history.word} client:claude-code").hits
    for hit in store.search(f"{history.word} kind:prompt").hits:
        assert hit.is_in_thread
        entries = store.read(history.session, agent=hit.agent_id).whole().turns
        assert hit.offset in {item.offset for turn in entries for item in turn.items}
    common = ["--home", store.home, "--root", str(root)]
    runner = CliRunner()
    for given in (
        ["show", history.session],
        ["show", history.session, "--json"],
        ["export", history.session, "--format", "html", "--to", str(tmp_path / "html")],
        ["export", history.session, "--format", "markdown", "--to", str(tmp_path / "markdown")],
        ["usage", "--by", "session", f"client:{name}"],
        ["tools", "--json"],
        ["tools", f"client:{name}"],
        ["sessions"],
    ):
        done = runner.invoke(command, [*given, *common], env={"COLUMNS": "160"})
        is_found = given[0] != "usage" or any(history.tokens) or history.has_cost
        assert done.exit_code == (0 if is_found else 1), (given, done.output)
        if given[0] == "show":
            assert history.word in done.output
        if given[0] == "sessions":
            assert name in done.output.split()
    assert store.tools(f"client:{name}").totals == store.tools().totals
    refused = runner.invoke(command, ["resume", history.session, "--print", *common])
    assert (refused.exit_code, "hansard handoff" in refused.output) == (2, True)  # not in another client's folder
    pages = [path.read_text() for path in (tmp_path / "html").rglob("*.html")]
    assert any(history.word in page for page in pages)


def test_a_window_has_the_entries_of_the_whole_thread(store: Hansard) -> None:
    for session in store.sessions(limit=None).sessions:
        thread = store.read(session.session_id)
        whole = list(thread.entries())
        starts = [start.offset for start in thread.starts]
        assert starts == sorted(set(starts))
        assert set(starts) <= {entry.offset for entry in whole}
        assert sum(len(turn.items) for turn in thread.whole().turns) == len(whole)
        for offset in sorted({entry.offset for entry in whole}):
            assert list(thread.entries(offset)) == [entry for entry in whole if entry.offset >= offset]


def test_rebuild_gives_the_same_answers(own_store: Hansard) -> None:
    home = Path(own_store.home)
    before = dump(home)
    own_store.rebuild()
    assert_same(dump(home), before)
    assert not own_store.verify(full=True).mismatches


@pytest.mark.parametrize("name", LOGS)
def test_any_split_gives_the_same_index(root: Path, tmp_path: Path) -> None:
    contents = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    with hansard.open(tmp_path / "whole", [root]) as h:
        h.sync()
    whole = dump(tmp_path / "whole")
    for share in (0.02, 0.31, 0.5, 0.77, 0.97):
        home = tmp_path / f"split {share}"
        with hansard.open(home, [root]) as h:
            for part in (share, (1 + share) / 2, 1):
                for path, content in contents.items():
                    if path.suffix in (".jsonl", ".json"):
                        path.write_bytes(content[: round(part * len(content))])
                h.sync()
        assert_same(dump(home), whole)


@pytest.mark.parametrize("name", FILES)
def test_restore_gives_the_same_bytes(own_store: Hansard, root: Path, tmp_path: Path) -> None:
    store = own_store
    kept = {path.name: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    sessions = [session.session_id for session in store.sessions(limit=None).sessions]
    for path in root.rglob("*"):
        if path.is_file():
            path.unlink()
    store.sync()
    given = ["restore", *sessions, "--to", str(tmp_path / "back"), "--home", store.home, "--root", str(root)]
    done = CliRunner().invoke(command, given)
    assert done.exit_code == 0, done.output
    back = {path.name: path.read_bytes() for path in (tmp_path / "back").rglob("*") if path.is_file()}
    assert back
    assert back.items() <= kept.items()
    assert len(back) >= len(sessions)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are made with fork")
@pytest.mark.parametrize("name", CRASHED)
def test_a_crash_costs_nothing(root: Path, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "whole", [root]) as h:
        h.sync()
    (tmp_path / "out").mkdir()
    arguments = ["sync", str(root), str(tmp_path / "none"), str(tmp_path / "out"), "6"]
    script = [sys.executable, "-m", "tests.sync.crashing", *arguments]
    left = subprocess.run(script, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.split()
    assert left
    for home in left[:: max(1, len(left) // 4)]:
        with hansard.open(home, [root]) as h:
            h.sync()
        assert_same(dump(Path(home)), dump(tmp_path / "whole"))


def test_a_line_by_itself_has_the_blocks_that_it_has_in_its_file(store: Hansard, name: str) -> None:
    client = generic(name)
    for _, _, content in logs(store):
        memory = client.recall(None)
        for offset, line in every_line(client, content):
            together = [item.body for item in client.items(line, offset, memory) if isinstance(item, ParsedLine)]
            alone = [item.body for item in client.items(line, offset) if isinstance(item, ParsedLine)]
            for record, other in zip(together, alone, strict=True):
                for number, block in enumerate(record.blocks):
                    if block.kind == NOTHING:
                        continue
                    twin = other.blocks[number]
                    assert (block.kind, block.text, block.call_id, block.input) == (
                        twin.kind,
                        twin.text,
                        twin.call_id,
                        twin.input,
                    )


def test_states_survive_storing_at_every_line(store: Hansard, name: str) -> None:
    client = generic(name)
    for id_, kind, content in logs(store):
        whole, pieces = _texts(client, [content], kind), []
        state, kept = State(), b""
        messages: dict[str, int] = {}
        lines = every_line(client, content)
        for offset, line in lines:
            state = load(dump_state(state))
            rows = client.fold(id_ << 40, kind, "p", "", "", state, messages.get)
            rows.take(line, offset)
            messages |= rows.messages
            fold = client.text_fold(kind, kept)
            pieces += fold.take(line, offset) or []
            kept = fold.kept()
        assert pieces == whole
        once = State()
        fold_once = client.fold(id_ << 40, kind, "p", "", "", once, lambda _key: None)
        for offset, line in lines:
            fold_once.take(line, offset)
        assert dump_state(state) == dump_state(once)


def _texts(client: GenericClient, pieces: list[bytes], kind: str = "main") -> list[Any]:
    fold = client.text_fold(kind, b"")
    return [found for offset, line in every_line(client, b"".join(pieces)) for found in fold.take(line, offset) or ()]


def test_damage_stays_in_its_line(store: Hansard, name: str, history: History, soak: int) -> None:
    client = generic(name)
    dice = random.Random(7)
    for id_, kind, content in logs(store):
        lines = content.split(b"\n")
        if len(lines) < 4:
            continue
        for number in range(MUTANTS * soak // len(HISTORIES)):
            place = dice.choice([place for place, line in enumerate(lines[:-1]) if line])
            damaged = BYTEWISE[number % len(BYTEWISE)](dice, lines[place], dice.choice(lines[:-1]))
            mutant = b"\n".join([*lines[:place], damaged.replace(b"\n", b" "), *lines[place + 1 :]])
            state = State()
            fold = client.fold(id_ << 40, kind, "p", "", "", state, lambda _key: None)
            for offset, line in every_line(client, mutant):
                fold.take(line, offset)
                fold.issues.end_line(fold.rows.issues, has_records=True)
            dump_state(state)
            after = {text.text for found in _texts(client, [mutant]) for text in found.texts if text.kind != "title"}
            if history.is_log and all(line[:1] == b"{" and line[-1:] == b"}" for line in lines[:-1]):
                own = {text.text for found in _texts(client, [lines[place] + b"\n"]) for text in found.texts}
                before = {
                    text.text for found in _texts(client, [content]) for text in found.texts if text.kind != "title"
                }
                assert before - own <= after, damaged
            json.dumps(sorted(after))[:1]


OTHER_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 62,
    1e308,
    "",
    "x",
    "2026-13-99",
    [],
    [None, "x", {}],
    {},
    {"type": 1},
    {"text": []},
)


def _changed(dice: random.Random, value: Any) -> Any:
    """A value in which one part is of another type."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(sorted(value))
        return {**value, key: _changed(dice, value[key])}
    if isinstance(value, list) and value and dice.random() < 0.85:
        place = dice.randrange(len(value))
        return [*value[:place], _changed(dice, value[place]), *value[place + 1 :]]
    return dice.choice(OTHER_VALUES)


def test_values_of_other_types_are_read_or_reported(store: Hansard, name: str, soak: int) -> None:
    client = generic(name)
    dice = random.Random(11)
    for id_, kind, content in logs(store):
        lines = [line.strip(b", \n") for _, line in every_line(client, content)]
        objects = [line for line in lines if line[:1] == b"{" and line[-1:] == b"}" and _is_json(line)]
        for _ in range(MUTANTS * soak // len(HISTORIES)) if objects else ():
            line = json.dumps(_changed(dice, json.loads(dice.choice(objects)))).encode()
            state = State()
            client.fold(id_ << 40, kind, "p", "s", "", state, lambda _key: None).take(line, 0)
            dump_state(state)
            fold = client.text_fold(kind, b"")
            fold.take(line, 0)
            fold.kept()
            for item in client.entry_reader(is_agent=False).line(line, 0):
                if isinstance(item, Readable):
                    for part in item.parts():
                        if isinstance(part, Called):
                            client.tool_use(part.tool, part.input(), "")
            client.answer(line)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
