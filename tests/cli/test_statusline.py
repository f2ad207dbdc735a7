"""The client's status line: always one line, always exit code 0, the same figures as the reports."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import platformdirs.macos
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.cli import fast_start
from hansard.cli.app import hansard as command_line
from hansard.cli.statusline import line, refresh, run, snapshot
from hansard.directories import config_path, user_directory
from hansard.engine import Hansard
from hansard.render.format import dollars, row_cost, short
from hansard.storage.sqlite import connect, connect_readonly

if TYPE_CHECKING:
    import apsw

SESSION = "5e551011-aaaa-4aaa-8aaa-000000000001"
OTHER = "5e551011-bbbb-4bbb-8bbb-000000000002"
STILL = "{model} · {session} session · {today} today · {block}"  # nothing that a second changes
SHELLS = [name for name in ("dash", "bash", "zsh", "busybox", "sh") if shutil.which(name)]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX system")


def write_session(root: Path, session: str, *, answers: int = 12, model: str = "claude-sonnet-4-5-20250929") -> None:
    """A session that is going on, all of it today."""
    path = root / "projects" / "-src-tide" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(answers):
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        at = max(now - timedelta(minutes=3 * (answers - number)), midnight)
        message = {
            "id": f"msg_01{session[-4:]}{number:018}",
            "role": "assistant",
            "type": "message",
            "model": model,
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 900 + number, "output_tokens": 7000, "cache_read_input_tokens": 40_000},
        }
        line = {
            "type": "assistant",
            "uuid": f"{session[-4:]}-{number}",
            "parentUuid": None,
            "sessionId": session,
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "cwd": "/src/tide",
            "message": message,
        }
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def client(session: str = SESSION, **more: Any) -> bytes:
    """What a client writes to the line's stdin."""
    told = {
        "hook_event_name": "Status",
        "session_id": session,
        "transcript_path": f"/home/mira/.claude/projects/-src-tide/{session}.jsonl",
        "cwd": "/src/tide",
        "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
        "workspace": {"current_dir": "/src/tide", "project_dir": "/src/tide"},
        "version": "2.1.325",
        "cost": {"total_cost_usd": 1.2345, "total_duration_ms": 12345},
        "context_window": {"used_percentage": 81.4},
        "rate_limits": {"five_hour": {"used_percentage": 42}, "seven_day": {"used_percentage": 93}},
    }
    return json.dumps({**told, **more}).encode()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions that are going on, and nothing kept of them yet."""
    place = tmp_path / "claude"
    write_sessions(place)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))
    return place


def write_sessions(root: Path) -> None:
    write_session(root, SESSION)
    write_session(root, OTHER, answers=5, model="claude-opus-4-5-20251101")


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two sessions in `claude`, and their store in `store`; both read only."""
    place = tmp_path_factory.mktemp("statusline")
    write_sessions(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return place


@pytest.fixture
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, kept: of the test's own `root` if it names one, otherwise a copy of one that is synced already."""
    place = Path(os.environ["HANSARD_HOME"])
    if "root" in request.fixturenames:
        with hansard.open(place, [request.getfixturevalue("root")]) as h:
            h.sync()
    else:
        synced: Path = request.getfixturevalue("synced")
        shutil.copytree(synced / "store", place)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(synced / "claude"))
    update()
    return place


@pytest.fixture
def h(store: Path) -> Iterator[Hansard]:
    with hansard.open(store) as h:
        yield h


def start(
    *args: str, said: bytes = b"", command: tuple[str, ...] = ("-W", "error", "-m", "hansard", "statusline")
) -> Any:
    process = subprocess.Popen(
        [sys.executable, *command, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(said)
    process.stdin.close()
    process.stdin = None
    return process


def update() -> None:
    """Bring the snapshot up to date, as the process behind the line does."""
    refresh.update_snapshot(os.environ["HANSARD_HOME"])


def show(*args: str, said: bytes | None = None) -> str:
    """The line without colours, of a snapshot that is up to date; nothing is left behind."""
    update()
    return shown(*args, said=said)


def shown(*args: str, said: bytes | None = None) -> str:
    """The line without colours, of the snapshot as it is, without a process of its own."""
    return drawn("--color", "never", *args, said=said)


def drawn(*args: str, said: bytes | None = None) -> str:
    """The same with the colours that are asked for."""
    options, out = run.Options(), io.TextIOWrapper(io.BytesIO())
    options.parse(["--no-sync", *args])
    assert not options.mistakes + options.words
    with redirect_stdout(out):
        run.run(options, io.TextIOWrapper(io.BytesIO(client() if said is None else said)))
    return only_line(out.buffer.getvalue())


def shown_by_process(*args: str, said: bytes | None = None) -> str:
    """The same by a process, which may start a refresh."""
    return printed(start("--no-sync", "--color", "never", *args, said=client() if said is None else said))


def by_click(*args: str, said: bytes | None = None) -> str:
    """The line that the command gives without its fast start."""
    done = CliRunner().invoke(command_line, args, input=client() if said is None else said, prog_name="hansard")
    assert (done.exit_code, done.stderr) == (0, "")
    return only_line(done.stdout_bytes)


def printed(process: Any) -> str:
    with process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    return only_line(out)


def only_line(out: bytes) -> str:
    text = out.decode()
    assert text.endswith("\n")
    assert len(text.splitlines()) == 1
    return text.rstrip("\r\n")


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that another process does."""
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return found


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


def change(store: Path, **values: Any) -> None:
    """Change what the snapshot says, and what it says of the figures."""
    content = json.loads((store / snapshot.FILE).read_text())
    for name, value in values.items():
        (content if name in content else content["figures"])[name] = value
    (store / snapshot.FILE).write_text(json.dumps(content))


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


# -- options and configuration


def write_config(text: str) -> None:
    path = Path(config_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_format_of_the_configuration(store: Path) -> None:
    write_config('statusline = "{model} · {project}"')
    assert show() == "Sonnet 4.5 · tide"
    assert show("--format", "{project}") == "tide"
    write_config('statusline = "{project}"')
    assert show() == "tide"
    os.unlink(config_path())
    assert "session" in show()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('statusline = "{modell} · {project}"', "tide · no {modell} to show: see config.toml"),
        ('statusline = "{project"', r"Sonnet 4\.5 · .* session .*invalid format: see config.toml"),
        ('statusline = "{0} {project.x}"', r"Sonnet 4\.5 · .* session .*invalid format: see config.toml"),
        ("no_such_key = 1", r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
        ('timezone = "Mars/Olympus"', r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
        ("garbage", r"Sonnet 4\.5 · .* session .*config\.toml is invalid: .*"),
    ],
)
def test_a_configuration_with_a_mistake_still_gives_a_line(store: Path, text: str, line: str) -> None:
    write_config(text)
    for _ in range(2):
        assert re.fullmatch(line, show())


@pytest.mark.parametrize("form", ["{modell}", "{model", "}", "{0}", "{model.x}"])
def test_a_mistake_on_the_command_line_is_explained(store: Path, form: str) -> None:
    with start("--format", form, said=client()) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"use one of model, project" in err


def test_time_zones(store: Path, h: Hansard) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        write_config(f'timezone = "{zone}"')
        today = [row for row in h.usage(by="day", timezone=zone).rows if row.key["day"] == _today(zone)]
        assert show("--format", "{today}") == (row_cost(today[0]) if today else "$0.00")


def _today(zone: str) -> str:
    from zoneinfo import ZoneInfo

    return datetime.now(ZoneInfo(zone)).date().isoformat()


def test_budgets_near_and_over(store: Path, h: Hansard) -> None:
    spent = h.usage(by="month").totals.cost_usd
    assert spent
    write_config(
        f"[budgets]\nmonth = {spent / 2:f}\nweek = 1000000\n[budgets.projects.tide]\nmonth = {spent * 10 / 9:f}"
    )
    line = show("--format", "{budget}")
    assert line == "OVER month budget 200%, tide month budget 90%"
    assert "budget" not in show("--format", "{session}")
    write_config("[budgets]\nmonth = 1000000")
    assert "budget" not in show()
    write_config(f"[budgets]\nday = {spent / 100:f}")
    update()
    colored = drawn("--color=always", "--format={today}|{budget}")
    today, budget = colored.split("|")
    assert today.startswith("\x1b[31m$")
    assert budget.startswith("\x1b[31mOVER day budget")


def test_colours(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[36mSonnet 4.5\x1b[0m" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in drawn()
    assert "\x1b" in drawn("--color", "always")


def test_the_long_way_gives_the_same(store: Path) -> None:
    long = ("-W", "error", "-m", "hansard", "--no-sync", "statusline")
    same = ("--color=never", "--format", STILL)
    assert printed(start(*same, said=client(), command=long)) == shown_by_process(*same) == drawn(*same)
    for options in ([], ["--color=never"], ["--home", str(store)], ["--every", "3", "--root", str(store)]):
        options += ["--format", STILL]
        assert by_click("--no-sync", "statusline", *options) == drawn(*options)
    with start("--help") as process:
        assert b"hansard statusline [OPTIONS]" in process.communicate()[0]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--json"], ["--script"], ["--format"], ["--color", "x"], ["x"], ["--every=-1"]]
)
def test_what_the_short_way_leaves_to_the_long_one(arguments: list[str]) -> None:
    options = run.Options()
    options.parse(arguments)
    assert options.mistakes or options.words


def test_options_reach_the_other_process(tmp_path: Path) -> None:
    options, again = run.Options(), run.Options()
    options.parse(
        ["--root=/a", "--root", str(tmp_path), "--follow-links=/b", "--format", "{model}", "--every", "9", "--no-sync"]
    )
    again.parse(options.arguments("/home"))
    assert not options.mistakes + again.mistakes
    assert (again.home, again.roots, again.form) == ("/home", ["/a", str(tmp_path)], "{model}")
    assert again.follow_links == ["/b"]
    assert (again.every, again.refresh, again.no_sync) == (9, False, True)


def test_the_short_way_costs_little(store: Path) -> None:
    show()

    def loaded(code: str) -> set[str]:
        done = subprocess.run([sys.executable, "-c", code], input=client(), capture_output=True, check=True)
        return set(done.stderr.decode().split())

    tell = "print(*sys.modules, file=sys.stderr)"
    bare = loaded(f"import sys, hansard.cli; {tell}")
    ours = loaded(
        f"import os, sys; sys.argv = ['hansard', 'statusline', '--no-sync']\nos._exit = lambda code: {tell}\n"
        "from hansard.cli.statusline.run import run_fast; run_fast(sys.argv[2:])"
    )
    allowed = {"_json", "hansard.cli.fast_start", "hansard.cli.statusline", "hansard.directories"} | {
        f"hansard.cli.statusline.{name}" for name in ("run", "snapshot", "line")
    }
    assert ours - bare == allowed


# -- what is left behind


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """Which refreshes were started, each with its streams and session."""
    folder = tmp_path / "marking"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if '--refresh' in sys.orig_argv:\n"
        "    where = [os.readlink(f'/proc/self/fd/{n}') if os.path.exists('/proc/self/fd') else os.devnull for n in range(3)]\n"
        f"    place = os.open({str(tmp_path / 'marks')!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "    os.write(place, ('\\t'.join([*where, str(os.getsid(0)), str(os.getpid())]) + '\\n').encode())\n"
        "    os.close(place)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))

    def read() -> list[list[str]]:
        path = tmp_path / "marks"
        return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []

    return read


def at_rest(home: Path) -> bool:
    """Whether no refresh is running."""
    lock = run.refresh_lock(str(home))
    if not lock.acquire():
        return False
    lock.release()
    return True


@POSIX
def test_fifty_at_once_leave_one_refresh(root: Path, started: Callable[[], list[list[str]]]) -> None:
    home = Path(os.environ["HANSARD_HOME"])
    options = ("--color=never", "--every=600")  # a busy machine takes more than five seconds for this
    crowd = [start(*options, said=client(SESSION if number % 2 else OTHER)) for number in range(50)]
    for process in crowd:
        assert printed(process).startswith("Sonnet 4.5 · ")
    until(lambda: (home / snapshot.FILE).exists() and at_rest(home))
    (mark,) = started()
    assert mark[:3] == [os.devnull] * 3
    assert int(mark[3]) != os.getsid(0)
    assert show("--format", "{session}").startswith("$")
    # It is too early for another, until its time has come.
    assert printed(start(*options, said=client()))
    assert len(started()) == 1
    assert run.refresh_lock(str(home)).wait()
    os.utime(home / run.LOCK, (1, 1))
    assert printed(start(*options, said=client()))
    assert len(started()) == 1
    change(home, next_sync=0)
    assert printed(start(*options, said=client()))
    until(lambda: len(started()) == 2)
    until(lambda: at_rest(home))
    if sys.platform != "win32":
        assert {(home / name).stat().st_mode & 0o777 for name in (snapshot.FILE, run.LOCK)} == {0o600}


@POSIX
def test_a_refresh_that_is_running_is_enough(store: Path, started: Callable[[], list[list[str]]]) -> None:
    lock = run.refresh_lock(str(store))
    assert lock.acquire()
    assert printed(start(said=client()))
    lock.release()
    assert started() == []


@POSIX
def test_the_first_line_has_the_snapshot_made(store: Path, started: Callable[[], list[list[str]]]) -> None:
    before = shown_by_process("--format", "{session}")
    (store / snapshot.FILE).unlink()
    (spool(store) / f"{SESSION}.shown").unlink()
    assert shown_by_process("--format", "{session}") == "~$1.23"
    until(lambda: (store / snapshot.FILE).exists() and at_rest(store))
    assert shown_by_process("--format", "{session}") == before
    assert len(started()) == 1
    assert not (store / "last-failure.json").exists()
    assert (store / snapshot.FILE).stat().st_mode & 0o777 == 0o600


@POSIX
def test_what_another_process_synced_is_shown_without_a_sync(store: Path, root: Path) -> None:
    change(store, next_sync=int(time.time() * 1000) + 600_000)
    before = shown_by_process("--format", "{session}")
    write_session(root, SESSION, answers=40)
    with hansard.open(store, [root]) as h:
        h.sync()
    last_sync = (store / "last-sync.json").stat().st_mtime_ns
    assert printed(start("--color=never", "--format={session}", said=client())) == before
    until(lambda: shown_by_process("--format", "{session}") != before)
    until(lambda: at_rest(store))
    assert (store / "last-sync.json").stat().st_mtime_ns == last_sync


@POSIX
def test_a_refresh_that_was_killed_holds_nobody_up(store: Path) -> None:
    code = f"""if True:
        from hansard.cli.statusline.run import refresh_lock
        lock = refresh_lock({str(store)!r})
        assert lock.acquire()
        print("held", flush=True)
        input()"""
    command = [sys.executable, "-m", "hansard", "statusline", "--refresh"]
    (store / f"{snapshot.FILE}.1.new").write_text("{")
    os.utime(store / f"{snapshot.FILE}.1.new", (1, 1))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert not at_rest(store)
        (store / snapshot.FILE).unlink()
        subprocess.run(command, check=True)  # another one at the same time does nothing
        assert not (store / snapshot.FILE).exists()
        process.kill()
    subprocess.run(command, check=True)
    assert shown_by_process("--format", "{session}").startswith("$")
    assert [path.name for path in store.glob(f"{snapshot.FILE}*")] == [snapshot.FILE]


def test_each_data_directory_has_its_own_snapshot(store: Path, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with hansard.open(other, []) as h:
        h.sync()
    refresh.update_snapshot(str(other))
    assert shown("--format", "{session}|{today}", "--home", str(other)) == "~$1.23|$0.00"
    assert shown("--format", "{session}|{today}").startswith("$")


def test_what_the_client_deletes_soon_is_warned_of_unless_it_is_stored(store: Path, root: Path) -> None:
    assert "not stored" not in show()
    place = next((root / "projects").rglob("*.jsonl")).with_name("77777777-aaaa-4aaa-8aaa-777777777777.jsonl")
    place.write_text("{}\n")
    os.utime(place, (1_700_000_000, 1_700_000_000))
    (store / snapshot.FILE).unlink()
    assert show().endswith(" · ⚠ 1 transcript not stored, deleted soon: hansard sync")
    assert show("--format", "{unkept}").startswith("1 transcript not stored, deleted soon")
    with hansard.open(store, [root]) as h:
        h.sync()
    refresh.update_snapshot(str(store), next_sync=0)
    assert "not stored" not in shown()


@POSIX
def test_new_answers_are_in_a_later_line(store: Path, root: Path) -> None:
    before = show("--format", "{session}")
    write_session(root, SESSION, answers=40)
    assert printed(start("--color=never", "--format={session}", said=client())) == before
    until(lambda: show("--format", "{session}") != before)
    until(lambda: at_rest(store))
    with hansard.open(store) as h:
        row = next(row for row in h.usage(by="session").rows if row.key["session"] == SESSION)
    assert show("--format", "{session}") == row_cost(row)


@POSIX
def test_a_folder_full_of_traps_is_not_imported(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("hansard", "apsw", "json", "msgspec"):
        (trap / f"{name}.py").write_text(f"open({str(tmp_path / 'caught')!r}, 'w')")
    monkeypatch.chdir(trap)
    command = ("-P", "-W", "error", "-m", "hansard", "statusline")
    assert printed(start(said=client(), command=command))
    until(lambda: (store / run.LOCK).exists() and at_rest(store))
    assert not (tmp_path / "caught").exists()


# -- the shell script


def run_script(shell: str, script: Path, said: bytes) -> Any:
    command = [shutil.which(shell) or shell, *(["sh"] if shell == "busybox" else []), str(script)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(said)
    process.stdin.close()
    process.stdin = None
    return process


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "it's a script.sh"
    path.write_text(printed_script("--color=never", "--format={model} costs {session}"))
    return path


def printed_script(*options: str) -> str:
    done = CliRunner().invoke(command_line, ["statusline", "--script", *options], prog_name="hansard")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def spool(store: Path) -> Path:
    return store / "statusline"


def calm(store: Path) -> bool:
    return not (spool(store) / "busy").exists() and at_rest(store)


@POSIX
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_shows_what_was_written_last(shell: str, script: Path, store: Path) -> None:
    cost = show("--format", "{session}")
    assert printed(run_script(shell, script, client())) == f"Sonnet 4.5 costs {cost}"
    until(lambda: calm(store))
    line = spool(store) / f"{SESSION}.line"
    assert line.read_text() == f"Sonnet 4.5 costs {cost}\n"
    line.write_text("as it was written\n")
    assert printed(run_script(shell, script, client(version="x" * 3000))) == "as it was written"
    until(lambda: calm(store))
    assert line.read_text() == f"Sonnet 4.5 costs {cost}\n"
    assert {path.stat().st_mode & 0o777 for path in spool(store).iterdir()} == {0o600}
    assert spool(store).stat().st_mode & 0o777 == 0o700


@POSIX
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"garbage\n\n$(touch caught) `touch caught` %s \\n",
        client("../../../caught"),
        client("$(touch caught)"),
        client("x" * 300),
        client("%s%n"),
        json.dumps(json.loads(client()), indent=2).encode(),
        client(cwd='"session_id":"../caught"'),
    ],
)
def test_the_script_takes_nothing_for_a_command(
    shell: str, said: bytes, script: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed(run_script(shell, script, said))
    until(lambda: calm(store))
    assert not list(tmp_path.rglob("caught*"))
    assert {path.suffix for path in spool(store).iterdir()} <= {"", ".in", ".line", ".shown"}
    assert all(path.parent == spool(store) for path in store.rglob("*.in"))


@POSIX
@pytest.mark.parametrize("shell", SHELLS[:2])
def test_fifty_scripts_at_once_leave_one_refresh(
    shell: str, script: Path, store: Path, started: Callable[[], list[list[str]]]
) -> None:
    said = {name: client(name) for name in [SESSION, OTHER, *(f"s{number}" for number in range(48))]}
    for name in said:
        (spool(store)).mkdir(exist_ok=True)
        (spool(store) / f"{name}.line").write_text("known\n")
    crowd = [run_script(shell, script, text) for text in said.values()]
    assert {printed(process) for process in crowd} == {"known"}
    until(lambda: calm(store))
    assert 1 <= len(started()) <= 3  # the first may end while the last begin
    assert (spool(store) / f"{SESSION}.line").read_text().startswith("Sonnet 4.5 costs $")


@POSIX
@pytest.mark.parametrize("shell", SHELLS[:2])
def test_a_refresh_that_died_is_replaced(
    shell: str, script: Path, store: Path, started: Callable[[], list[list[str]]]
) -> None:
    assert printed(run_script(shell, script, client()))
    until(lambda: calm(store))
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    (spool(store) / "busy").write_text(f"{done.pid}\n")
    assert printed(run_script(shell, script, client()))
    until(lambda: len(started()) == 2)
    until(lambda: calm(store))
    # Its number may belong to another process by now: after many tries nobody believes it.
    (spool(store) / "busy").write_text(f"{os.getpid()}\n")
    assert printed(run_script(shell, script, client()))
    assert len(started()) == 2
    (spool(store) / "tries").write_text("100\n")
    assert printed(run_script(shell, script, client()))
    until(lambda: len(started()) == 3)
    until(lambda: calm(store))


@POSIX
def test_a_script_that_never_syncs(tmp_path: Path, store: Path, root: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_text(printed_script("--color=never", "--format={session}", "--no-sync"))
    before = printed(run_script("sh", path, client()))
    write_session(root, SESSION, answers=40)
    (store / "statusline" / f"{SESSION}.line").unlink(missing_ok=True)
    until(lambda: calm(store))
    assert printed(run_script("sh", path, client())) == before
    until(lambda: calm(store))
    assert (store / "statusline" / f"{SESSION}.line").read_text() == f"{before}\n"


@POSIX
def test_lines_of_sessions_that_ended_are_removed(script: Path, store: Path) -> None:
    spool(store).mkdir()
    old = [spool(store) / "old.in", spool(store) / "old.line"]
    for path in old:
        path.write_text("x")
        os.utime(path, (1, 1))
    assert printed(run_script("sh", script, client()))
    until(lambda: calm(store))
    assert not any(path.exists() for path in old)


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
    page = (Path(__file__).parents[2] / "docs" / "statusline.md").read_text(encoding="utf-8")
    for name in line.PLACES:
        assert f"| `{{{name}}}` |" in page
    assert line.DEFAULT in page
