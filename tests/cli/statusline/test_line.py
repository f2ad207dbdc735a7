"""The client's status line: always one line, always exit code 0, the same figures as the reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import platformdirs.macos
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.cli import fast_start
from hansard.cli.statusline import line, run, snapshot
from hansard.directories import user_directory
from hansard.engine import Hansard
from hansard.render.format import dollars, row_cost, short
from hansard.storage.sqlite import connect, connect_readonly

if TYPE_CHECKING:
    import apsw

from tests.cli.statusline.making import (
    SESSION,
    STILL,
    by_click,
    change,
    client,
    printed,
    show,
    shown,
    shown_by_process,
    start,
    write_session,
)

# -- figures


def test_the_figures_are_those_of_the_reports(h: Hansard) -> None:
    session, today, block, burn, tokens = show("--format", "{session}|{today}|{block}|{burn}|{tokens}").split("|")
    row = next(row for row in h.usage(by="session").rows if row.key["session"] == SESSION)
    assert row.cost_usd
    assert (session, tokens) == (row_cost(row), short(row.tokens))
    assert today == row_cost(h.usage(by="day").rows[-1])
    active = next(item for item in h.blocks().blocks if item.is_active)
    assert active.usage
    assert active.burn_usd_per_hour
    assert block == row_cost(active.usage)
    assert float(burn.removeprefix("$").replace(",", "")) == pytest.approx(float(active.burn_usd_per_hour), rel=0.02)


def test_the_usual_line(store: Path) -> None:
    amount = r"\$[\d,]+\.\d\d"
    line = show()
    assert re.fullmatch(
        rf"Sonnet 4\.5 · {amount} session · {amount} today · {amount} block \(\d h \d\d min left\) · {amount}/h", line
    )
    assert show("--format", STILL) == show("--format", STILL, said=client(cost=None))


def test_a_store_that_does_not_keep_everything_says_so(store: Path) -> None:
    (store / "last-sync.json").write_bytes(b'{"problems": 2}')
    assert show("--format", "{model}") == "Sonnet 4.5 · ⚠ files not kept: hansard status"
    (store / "last-failure.json").write_bytes(b'{"at": 1.0, "error": "no space left"}')
    assert show("--format", "{model}") == "Sonnet 4.5 · ⚠ sync fails: hansard status"


def test_what_the_store_does_not_know_comes_from_the_client(store: Path) -> None:
    assert show("--format", "{session}", said=client("another")) == "~$1.23"
    assert show("--format", "{session} {tokens}", said=client("another")) == "~$1.23 -"
    assert show("--format", "{tokens} · x", said=client("another")) == "x"


def test_a_session_never_costs_less_than_its_line_has_shown(root: Path, store: Path) -> None:
    """The store is a refresh behind the client, whose figure was shown while the store knew nothing."""
    new, cost = "5e551011-cccc-4ccc-8ccc-000000000003", ("--format", "{session}")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert show(*cost, said=client(new, cost={"total_cost_usd": 0.25})) == "~$0.25"
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    for answers, text in ((1, "~$0.25"), (2, "~$0.25"), (3, "$0.36")):
        write_session(root, new, answers=answers)
        with hansard.open(store, [root]) as h:
            h.sync()
        assert show(*cost, said=client(new, cost={"total_cost_usd": 0.0})) == text
    assert show(*cost, said=client(new, cost=None)) == "$0.36"
    assert show(*cost, said=client("another", cost={"total_cost_usd": 0.05})) == "~$0.05"


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(0, 3),
            st.none() | st.tuples(st.none() | st.decimals(0, 3, places=4), st.integers(0, 10**7)),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_no_figure_of_a_session_goes_backwards(steps: list[tuple[Any, Any, bool]]) -> None:
    """Whatever the client says and the store knows, in any order, and whoever writes the line."""
    options, previous = run.Options(), [0.0, 0.0]
    options.form, options.color = "{session} {tokens}", "never"
    with TemporaryDirectory() as home:
        for said, known, is_script in steps:
            sessions = {}
            if known is not None:
                cost_text = dollars(known[0])
                amount = None if known[0] is None else float(known[0])
                sessions[SESSION] = [cost_text, str(known[1]), amount, known[1]]
            values = {
                "shape": snapshot.SHAPE,
                "state": "",
                "checked": 0,
                "next_sync": 0,
                "form": None,
                "unkept": None,
                "unkept_at": 0,
            }
            figures = {"at": 0, "zone": None, "day": [0, 1], "block": None, "sessions": sessions}
            values |= {"trouble": None, "is_failed": False, "figures": figures}
            given = line.ClientInput(client(cost={"total_cost_usd": said}))
            mark = snapshot.HighWaterMark(home, given.session_id)
            text = run.line_of(options, given, snapshot.Snapshot(values), "", 0, mark)
            if is_script:  # the refresh writes the line again, from what the client said then
                text = run.line_of(options, given, None, "", 0, snapshot.HighWaterMark(home, SESSION))
            if text == run.NOTHING:
                assert previous == [0.0, 0.0]
                continue
            now = [_number(word) for word in text.split(" ")]
            assert now[0] >= previous[0]
            assert now[1] >= previous[1]
            previous = now


def _number(word: str) -> float:
    digits = word.strip("~$?-+").replace("<$0.01", "0.001")
    return float(digits) if digits else 0.0


def test_what_the_client_says(store: Path) -> None:
    assert (
        show("--format", "{model} in {project} · {context} · {plan}") == "Sonnet 4.5 in tide · 81% · 5 h 42%, 7 d 93%"
    )
    assert show("--format", "{model}", said=client(model={"id": "claude-x"})) == "claude-x"
    assert show("--format", "{{{model}}}", said=client()) == "{Sonnet 4.5}"


def test_the_branch(store: Path, tmp_path: Path) -> None:
    repository = tmp_path / "src" / "tide"
    (repository / ".git").mkdir(parents=True)
    (repository / "deep").mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/spring/tide\n")
    assert show("--format", "{branch}", said=client(cwd=str(repository / "deep"))) == "spring/tide"
    tree = tmp_path / "src" / "neap"
    (repository / ".git" / "worktrees" / "neap").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../tide/.git/worktrees/neap\n")
    (repository / ".git" / "worktrees" / "neap" / "HEAD").write_text("0123456789abcdef\n")
    assert show("--format", "{branch}", said=client(cwd=str(tree))) == "01234567"
    assert show("--format", "{branch} · x", said=client(cwd="/nowhere")) == "x"


def test_unpriced_models_are_marked(root: Path) -> None:
    write_session(root, SESSION, model="kestrel-coder-2")
    with hansard.open(os.environ["HANSARD_HOME"], [root]) as h:
        h.sync()
    assert show("--format", "{session}") == "?"
    assert show("--format", "{today}").endswith("+?")


def test_json_is_the_current_usage(h: Hansard) -> None:
    answer = json.loads(by_click("statusline", "--json", "--no-sync"))
    current = h.current(SESSION)
    assert current.session
    assert current.block
    assert answer["session"]["cost_usd"] == f"{current.session.cost_usd:f}".rstrip("0")
    assert answer["session_id"] == SESSION
    assert answer["block"]["tokens"] == current.block.tokens
    assert json.loads(by_click("statusline", "--json", "--no-sync", said=b"garbage"))["session"] is None


# -- what may be wrong


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"12",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"session_id": 5, "model": [], "cost": {"total_cost_usd": 1e999}, "workspace": {"project_dir": {}}, "cwd": 7}',
        b'{"session_id": "\\ud800", "model": {"display_name": "\\ud800"}}',
        b'{"cost": {"total_cost_usd": ' + b"9" * 6000 + b"}}",
        b'{"cost": {"total_cost_usd": true}, "context_window": {"used_percentage": -5}}',
    ],
)
def test_garbage_still_gives_a_line(store: Path, said: bytes) -> None:
    # By a process: what its JSON scanner raises depends on which modules are loaded.
    assert "today" in shown_by_process(said=said)
    shutil.rmtree(store)
    assert shown(said=said)


def test_hostile_text_is_text(store: Path) -> None:
    name = "\x1b]0;pwned\x07Op\x1b[31mus\r\n\u202e\x9b5m" + "x" * 5000
    line = show(
        "--format", "{model} {project}", said=client(model={"display_name": name}, workspace={"project_dir": name})
    )
    assert line.isprintable()
    assert "pwned" not in line
    assert line.startswith("Opus")
    assert len(line) < 100


@contextmanager
def held(store: Path) -> Iterator[None]:
    """Let nobody start a refresh."""
    lock = run.refresh_lock(str(store))
    assert lock.acquire()
    yield
    lock.release()


def test_no_store() -> None:
    assert show() == "Sonnet 4.5 · ~$1.23 session"
    assert show(said=b"") == "hansard: no data yet"
    assert not os.path.exists(os.environ["HANSARD_HOME"])


def locked(store: Path) -> apsw.Connection:
    """The index in the hands of somebody who lets nobody else read."""
    db = connect(str(store / "index.db"))
    for step in ("PRAGMA locking_mode = EXCLUSIVE", "INSERT OR REPLACE INTO meta VALUES ('x', 1)", "BEGIN EXCLUSIVE"):
        db.execute(step).fetchall()
    return db


def damage(store: Path) -> None:
    (store / "index.db").write_bytes(b"nothing that SQLite knows" * 1000)
    (store / "index.db-wal").unlink(missing_ok=True)


def lose(store: Path) -> None:
    shutil.move(store / "index.db", store / "elsewhere")


@pytest.mark.parametrize("harm", [locked, damage, lose])
def test_the_last_known_figures_when_the_store_cannot_be_read(
    store: Path, harm: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("index.store", "query.reader"):  # a refresh waits for no lock: this one is never released
        monkeypatch.setattr(f"hansard.{module}.connect_readonly", lambda path, _prepare: connect_readonly(path))
    before = show("--format", "{session} · {today} · {block}")
    harmed = harm(store)  # held until the end
    assert show("--format", "{session} · {today} · {block}") == f"{before} · last known, under a minute old"
    os.unlink(store / snapshot.FILE)
    assert show("--format", "{session} · {today} · {block}") == before.split(" · ")[0]
    assert show("--format", "{session} · {today} · {block}", said=client("another")) == "~$1.23"
    del harmed


def test_a_writer_does_not_hinder_the_line(store: Path) -> None:
    before = show("--format", STILL)
    db = connect(str(store / "index.db"))
    db.execute("BEGIN EXCLUSIVE; INSERT OR REPLACE INTO meta VALUES ('x', 1)")
    assert show("--format", STILL) == before
    db.close()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"shape": 4}', '{"shape": 1, "settings": {}, "figures": {}}', "\x00" * 4000]
    + [
        f'{{"shape": 4, "state": "", "checked": 0, "next_sync": 0, "form": {form}, "trouble": null, "is_failed": false, "figures": {figures}}}'
        for form, figures in (("5", "null"), ("null", "7"), ("null", "{}"), ("null", '{"at": "x", "day": [1]}'))
    ],
)
def test_a_snapshot_that_is_not_ours_is_as_good_as_none(store: Path, content: str) -> None:
    before = show("--format", "{session} · {today}")
    (store / snapshot.FILE).write_text(content)
    with held(store):
        assert shown("--format", "{session} · {today}") == before.split(" · ")[0]
        assert shown("--format", "{session} · {today}", said=client("another")) == "~$1.23"
    assert show("--format", "{session} · {today}") == before


def test_figures_of_yesterday_are_not_todays(store: Path) -> None:
    session, today = show("--format", "{session}|{today}").split("|")
    at = snapshot.load(str(store)).figures["day"]  # type: ignore[union-attr, index]
    change(store, day=[at[0] - 86_400_000, at[0]])
    assert shown("--format", "{session}|{today}|{budget}") == f"{session}|-|-"
    change(store, day=at)
    assert shown("--format", "{today}") == today
    change(store, zone="Mars -1")
    assert shown("--format", "{session}|{today}") == f"{session}|-"


def test_a_block_that_has_ended_is_not_the_present_one(store: Path) -> None:
    assert show("--format", "{block}|{left}|{burn}").count("-") == 0
    now = int(time.time() * 1000)
    change(store, block={"start": now - 18_000_001, "end": now - 1, "cost": "$1.00", "burn": "$1.00"})
    assert shown("--format", "x · {block}|{left}|{burn}") == "x"


def test_figures_that_the_store_has_left_behind_are_marked(store: Path) -> None:
    before = show("--format", "{session}")
    minutes_ago = int(time.time() * 1000) - 190_000
    change(store, at=minutes_ago)
    assert shown("--format", "{session}") == before  # what the store says, however long ago it was asked
    change(store, state="another")
    with held(store):
        assert shown("--format", "{session}") == f"{before} · last known, 3 min old"
    change(store, at=int(time.time() * 1000) - 5000)
    with held(store):
        assert shown("--format", "{session}") == before  # the refresh is about to begin
    change(store, at=int(time.time() * 1000) + 7_200_000)
    with held(store):
        assert shown("--format", "{session}") == f"{before} · last known"  # by a clock that was ahead


@pytest.mark.parametrize("place", ["/proc/nobody/hansard", "a file", "read only"])
def test_a_home_that_cannot_be_written(place: str, store: Path, tmp_path: Path) -> None:
    if place == "read only":
        if sys.platform == "win32" or os.geteuid() == 0:
            pytest.skip("nothing is read-only for this user")
        store.chmod(0o500)
        assert printed(start("--color=never", said=client())).startswith("Sonnet 4.5 · $")
        store.chmod(0o700)
        return
    if place == "a file":
        place = str(tmp_path / "file")
        Path(place).write_text("x", encoding="utf-8")
    assert printed(start("--color=never", "--home", place, said=client())) == "Sonnet 4.5 · ~$1.23 session"


def test_closed_streams_and_readers_that_left(store: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("needs a shell")
    base = f"{shlex.quote(sys.executable)} -W error -m hansard statusline --no-sync"
    for tail in ("<&-", "<&- >&-", "</dev/null | true", "<&- 2>&- >/dev/full"):
        done = subprocess.run(["/bin/sh", "-c", f"{base} {tail}"], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


# -- the parts


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,0123456789.eE-+ \\untrfalsd', max_size=40).map(str.encode))
def test_json_means_the_same_as_to_json(text: bytes) -> None:
    try:
        expected = json.loads(text.decode("utf-8", "replace").lstrip("\ufeff").strip(), strict=False)
    except ValueError:
        with pytest.raises(ValueError, match="JSON"):
            fast_start.decode(text)
    else:
        assert repr(fast_start.decode(text)) == repr(expected)


def test_directories_of_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    there = platformdirs.macos.MacOS("hansard", appauthor=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert user_directory("data") == there.user_data_dir
    assert user_directory("config") == there.user_config_dir


def test_every_place_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "statusline.md").read_text(encoding="utf-8")
    for name in line.PLACES:
        assert f"| `{{{name}}}` |" in page
    assert line.DEFAULT in page
