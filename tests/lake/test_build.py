"""`hansard lake build` writes what the machines themselves would push, whatever happens while it runs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hansard
from benchmarks.load.metered import write_metered
from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError
from hansard.lake import build_unit as building
from hansard.lake.build import LakeBuildReport
from hansard.lake.build_unit import Plan, build_unit, survey
from hansard.lake.histories import Histories, find_roots
from hansard.lake.store import Lake
from hansard.lake.units import Division, Unit, batches
from tests.lake.conftest import push
from tests.lake.test_push import content, everything
from tests.lake.test_usage import report_of
from tests.recordings import History
from tests.team.conftest import TOKEN, write_session

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow", reason="Spark is not installed: make spark")
MIB = 1 << 20


def build(source: Path | str, lake: Path | str, **more: Any) -> LakeBuildReport:
    given: dict[str, Any] = {"source": str(source), "target": str(lake), "person": "ann", "names": True}
    with hansard.open(os.environ["HANSARD_HOME"]) as h:  # which has the key
        return h.build_lake(**(given | more))


def rows_without_ids(lake: Path) -> dict[str, list[Any]]:
    """Every row that readers see, without the numbers that a store gives its transcripts."""
    with Lake(str(lake)) as opened:
        engine = opened.engine()
        try:
            found = {}
            for view in ("sessions", "transcripts", "messages", "tool_calls", "prompts", "usage", "agents", "links"):
                rows = (
                    engine.rows(f"SELECT * EXCLUDE (machine, transcript) FROM {view}")
                    if view != "links"
                    else engine.rows("SELECT * EXCLUDE (machine) FROM links")
                )
                found[view] = sorted(rows, key=repr)
            return found
        finally:
            engine.close()


def link(machine: Path, root: Path | str) -> Path:
    """A machine's folder with a history that is elsewhere."""
    machine.mkdir(parents=True, exist_ok=True)
    (machine / "claude").symlink_to(root, target_is_directory=True)
    return machine.parent


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Hansard]]:
    """Two machines, one with most of the bytes and forks in it, and a store of both."""
    source = tmp_path_factory.mktemp("fleet")
    write_metered(source / "big" / ".claude", messages=2500)
    write_metered(source / "small" / ".claude", messages=200, seed=5)
    roots = [source / "big" / ".claude", source / "small" / ".claude"]
    with hansard.open(tmp_path_factory.mktemp("store"), roots) as h:
        h.sync()
        yield source, h


# -- in Spark


@pytest.mark.parametrize("name", ["hard", "public"])
@pytest.mark.usefixtures("spark")
def test_a_build_is_a_push(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The same rows, to the last one: figures are sums of them."""
    if name == "hard":
        h = request.getfixturevalue("hard")[0]
        source, opened = link(tmp_path / "source" / "laptop", h.roots[0].path), None
    else:
        histories: dict[str, History] = request.getfixturevalue("histories")
        source = link(tmp_path / "source" / "laptop", histories[name].roots[0])
        opened = hansard.open(histories[name].store, histories[name].roots)
        h = opened
    projects = tuple({one.project for one in h.sessions(limit=None, debris=True).sessions})
    report = build(source, tmp_path / "built", opened=projects, redact="off")
    assert (report.machines, report.built, report.failed, report.unreadable) == (1, 1, (), ())
    push(h, tmp_path / "pushed", opened=projects, redact="off")
    assert rows_without_ids(tmp_path / "built") == rows_without_ids(tmp_path / "pushed")
    if opened is not None:
        opened.close()


@pytest.mark.usefixtures("spark")
def test_a_large_machine_is_built_in_parts(fleet: tuple[Path, Hansard], tmp_path: Path) -> None:
    """Of skewed machines every unit but a single large session is small, and readers see machines, not parts."""
    source, h = fleet
    report = build(source, tmp_path / "lake", unit=1)
    assert (report.machines, report.failed) == (2, ())
    assert report.built == report.units > 2
    names = [path.stem for path in (tmp_path / "lake" / "manifests").iterdir()]
    assert len(names) == report.units
    for by in ("day", "model", "project", "client", "branch", "agent"):
        with Lake(str(tmp_path / "lake")) as lake:
            assert report_of(lake.usage(by=by, timezone="UTC")) == report_of(h.usage(by=by, timezone="UTC"))
    with Lake(str(tmp_path / "lake")) as lake:
        assert {row.key["machine"] for row in lake.usage(by="machine").rows} == {"big", "small"}
        assert [one.machine for one in lake.status().machines] == ["big", "small"]
    again = build(source, tmp_path / "lake", unit=1)
    assert (again.built, again.unchanged) == (0, report.units)
    whole = build(source, tmp_path / "lake", unit=64)
    assert (whole.built, whole.unchanged) == (1, 1)
    with Lake(str(tmp_path / "lake")) as lake:
        assert report_of(lake.usage(by="day", timezone="UTC")) == report_of(h.usage(by="day", timezone="UTC"))
    assert rows_without_ids(tmp_path / "lake") == rows_without_ids(_whole(source, tmp_path / "whole"))


def _whole(source: Path, lake: Path) -> Path:
    build(source, lake)
    return lake


@pytest.mark.usefixtures("spark")
def test_a_build_that_is_killed_goes_on(fleet: tuple[Path, Hansard], tmp_path: Path) -> None:
    """The whole process group dies; what it built is there, and the next build makes the rest."""
    source, h = fleet
    command = [sys.executable, "-m", "hansard", "lake", "build", str(source), str(tmp_path / "lake")]
    command += ["--master", "local[1]", "--names", "--person", "ann", "--unit", "1"]
    started = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    manifests = tmp_path / "lake" / "manifests"
    while started.poll() is None and not (manifests.is_dir() and len(list(manifests.glob("*.json"))) > 1):
        os.sched_yield()
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    _, said = started.communicate()
    assert list(manifests.glob("*.json")), said
    with Lake(str(tmp_path / "lake")) as lake:
        half = lake.usage(by="total").totals
    report = build(source, tmp_path / "lake", unit=1)
    assert report.unchanged >= 1
    assert report.unchanged + report.built == report.units
    with Lake(str(tmp_path / "lake")) as lake:
        assert report_of(lake.usage(by="day", timezone="UTC")) == report_of(h.usage(by="day", timezone="UTC"))
        assert 0 < half.api_messages <= lake.usage(by="total").totals.api_messages


@pytest.mark.usefixtures("spark")
def test_one_bad_machine_does_not_hinder_the_others(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("good", "pushed", "with#mark"):
        write_session(source / name / ".claude", f"/src/{name[:4]}", "heron")
    (source / "nothing" / "music").mkdir(parents=True)
    with hansard.open(tmp_path / "store", [source / "pushed" / ".claude"]) as h:
        h.sync()
        push(h, tmp_path / "lake", "pushed")
    report = build(source, tmp_path / "lake")
    assert (report.built, report.empty) == (1, ("nothing",))
    assert len(report.failed) == 2
    assert "pushed it itself" in report.failed[0]
    assert "cannot contain #" in report.failed[1]


# -- what a worker does


def plan_of(source: Path, lake: Path, **more: Any) -> Plan:
    given: dict[str, Any] = {"only": None, "person": "ann", "key": None, "redaction_key": b"key", "mode": "on"}
    given |= {"opened": (), "overrides": (), "prices": None}
    return Plan(source=str(source), target=str(lake), **(given | more))


def build_here(plan: Plan, machine: str) -> Any:
    found = survey(plan, machine)
    assert not found.error
    return build_unit(plan, found.unit)


class _KilledError(BaseException):
    pass


def test_killed_at_any_write(fleet: tuple[Path, Hansard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see whole parts only, and what is built then is what an undisturbed build makes."""
    source, _ = fleet
    build_here(plan_of(source, tmp_path / "once"), "small")
    wanted = content(tmp_path / "once")
    replace, left = os.replace, 0

    def counted(made: str, place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise _KilledError
        replace(made, place)

    monkeypatch.setattr("hansard.lake.storage.os.replace", counted)
    for number in range(1, 60, 7):
        lake = tmp_path / str(number)
        plan, left = plan_of(source, lake), number
        with suppress(_KilledError):
            build_here(plan, "small")
        is_killed, left = left == 0, 0
        if (lake / "manifests").exists():
            seen = content(lake)["sessions"]
            assert len({row[2] for row in seen}) == len(seen)
        if is_killed:
            assert not survey(plan, "small").is_built
        build_here(plan, "small")
        assert content(lake) == wanted
        assert survey(plan, "small").is_built


def test_what_changes_is_built_again(tmp_path: Path) -> None:
    write_session(tmp_path / "source" / "laptop" / ".claude", "/src/webshop", "heron")
    plan = plan_of(tmp_path / "source", tmp_path / "lake")
    build_here(plan, "laptop")
    assert survey(plan, "laptop").is_built
    for other in ({"opened": ("webshop",)}, {"mode": "strict"}, {"redaction_key": b"other"}, {"prices": b"{}"}):
        assert not survey(plan_of(tmp_path / "source", tmp_path / "lake", **other), "laptop").is_built
    (transcript,) = (tmp_path / "source").rglob("*.jsonl")
    transcript.write_bytes(transcript.read_bytes() * 2)
    assert not survey(plan, "laptop").is_built


def test_texts_and_names_leave_as_in_a_push(tmp_path: Path) -> None:
    """Neither the person, nor the machine, nor where its history lies; secrets are redacted, the same one always alike."""
    source = tmp_path / "source"
    write_session(source / "lees-laptop" / ".claude", "/src/webshop", "heron")
    (folder,) = (source / "lees-laptop" / ".claude" / "projects").iterdir()
    for path in folder.iterdir():
        path.write_text(path.read_text().replace('"/src/', '"/home/ann.lee/src/'))
    folder.rename(folder.with_name("-home-ann-lee-src-webshop"))
    plan = plan_of(source, tmp_path / "lake", key=b"a phrase", person="Ann Lee", opened=("webshop",))
    assert not build_here(plan, "lees-laptop").error
    seen = everything(tmp_path / "lake").replace(str(tmp_path), "")
    assert not re.search(r"(?i)ann.lee|lees-laptop(?!/\.claude)", re.sub(r'"source":"[^"]*"', "", seen))
    assert "~/src/webshop" in seen
    assert TOKEN not in seen
    (shown,) = set(re.findall(r"heron prompt (\[[^\]]+\])", seen))
    build_here(
        plan_of(source, tmp_path / "again", key=b"a phrase", person="Ann Lee", opened=("webshop",)), "lees-laptop"
    )
    assert shown in everything(tmp_path / "again")


def test_a_file_that_cannot_be_read_is_said_and_tried_again(tmp_path: Path) -> None:
    write_session(tmp_path / "source" / "laptop" / ".claude", "/src/webshop", "heron")
    (transcript,) = (tmp_path / "source").rglob("*.jsonl")
    missing = transcript.with_name("00000000-0000-4000-8000-000000000000.jsonl")
    missing.symlink_to(transcript.parent / "gone.jsonl")
    plan = plan_of(tmp_path / "source", tmp_path / "lake")
    built = build_here(plan, "laptop")
    assert built.sessions == 1
    assert [missing.name in line for line in built.unreadable] == [True]
    assert not survey(plan, "laptop").is_built


def test_objects_are_built_as_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths are those in the object store, not those of the copy."""
    store = pytest.importorskip("obstore.store")
    write_session(tmp_path / "source" / "laptop" / ".claude", "/src/webshop", "heron")
    plan = plan_of(tmp_path / "source", tmp_path / "lake")
    build_here(plan, "laptop")
    from hansard.lake.storage import Bucket

    bucket = Bucket("memory:///histories", store.MemoryStore())
    for path in (tmp_path / "source").rglob("*"):
        if path.is_file():
            bucket.upload(path.relative_to(tmp_path / "source").as_posix(), str(path))
    monkeypatch.setattr("hansard.lake.histories.open_storage", lambda _: bucket)
    remote = plan_of(Path("memory:///histories"), tmp_path / "remote")
    assert remote.histories.machines() == ["laptop"]
    assert not build_here(remote, "laptop").error
    assert survey(remote, "laptop").is_built
    shown = {str(tmp_path / "source"): "memory:///histories"}

    def named(lake: Path) -> list[Any]:
        with Lake(str(lake)) as opened:
            return opened.engine().rows("SELECT session_id, root, bytes, cost_usd FROM pushed_sessions")

    assert named(tmp_path / "remote") == [
        (one, root.replace(*next(iter(shown.items()))), *rest) for one, root, *rest in named(tmp_path / "lake")
    ]


# -- what is built at a time


def test_the_largest_unit_begins_first_and_small_ones_share_a_task() -> None:
    units = [Unit(f"m{size}", None, 1, size, "") for size in (1, 400, 3, 90, 2, 5, 8)]
    found = [[unit.bytes for unit in batch] for batch in batches(units, 100)]
    assert found == [[400], [90, 8], [5, 3, 2, 1]]
    assert max(len(batch) for batch in batches([Unit(str(n), None, 1, 0, "") for n in range(1000)], 100)) <= 100
    assert batches([], 100) == []


def line(uuid: str, session: str) -> str:
    return msgspec.json.encode({"type": "user", "uuid": uuid, "sessionId": session, "cwd": "/src/x"}).decode() + "\n"


@pytest.fixture
def divided(tmp_path: Path) -> Path:
    """Four sessions: the second is a fork of the first, the third has a subagent, the fourth is alone."""
    folder = tmp_path / "source" / "laptop" / ".claude" / "projects" / "-src-x"
    ids = [f"{number}0000000-0000-4000-8000-000000000000" for number in range(1, 5)]
    agents = folder / ids[2] / "subagents"
    agents.mkdir(parents=True)
    (folder / f"{ids[0]}.jsonl").write_text(line("a", ids[0]) + line("b", ids[0]))
    (folder / f"{ids[1]}.jsonl").write_text(line("a", ids[1]) + line("c", ids[1]))
    (folder / f"{ids[2]}.jsonl").write_text(line("d", ids[2]))
    (agents / "agent-1.jsonl").write_text(line("e", ids[2]))
    (folder / f"{ids[3]}.jsonl").write_text(line("f", ids[3]))
    (folder.parent.parent / "history.jsonl").write_text("{}\n")
    return tmp_path / "source"


def divide(source: Path, former: dict[str, int] | None = None, most_bytes: int = 1) -> list[list[str]]:
    division = Division(Histories(str(source)).open("laptop", ""))
    keys: dict[int, list[int]] = {}
    for number, client, path, _ in division.logs():
        for key in building.line_keys(client, path):
            keys.setdefault(key, []).append(number)
    common = [numbers for numbers in keys.values() if len(numbers) > 1]
    units = division.units(common, former or {}, most_bytes)
    return [
        sorted(path.rpartition("/")[2][:7] for path in paths) for unit in units for paths in (unit.only or {}).values()
    ]


def test_what_belongs_together_is_one_part(divided: Path) -> None:
    """The prompt history is read for each."""
    assert divide(divided) == [
        ["1000000", "2000000", "history"],
        ["3000000", "agent-1", "history"],
        ["4000000", "history"],
    ]
    assert divide(divided, most_bytes=MIB) == [["1000000", "2000000", "3000000", "4000000", "agent-1", "history"]]


def test_sessions_stay_in_their_part(divided: Path) -> None:
    """So that a change of one does not move others; what is new comes after."""
    former = {f"{number}0000000-0000-4000-8000-000000000000": part for number, part in ((3, 0), (1, 2))}
    assert divide(divided, former) == [
        ["3000000", "agent-1", "history"],
        ["1000000", "2000000", "history"],
        ["4000000", "history"],
    ]


def test_where_roots_are_found(tmp_path: Path) -> None:
    for machine, root in (("home", ".claude"), ("named", "my claude"), ("itself", ".")):
        write_session(tmp_path / machine / root, "/src/x", "heron")
    shutil.copytree(tmp_path / "itself" / "projects", tmp_path / "bare")
    (tmp_path / "empty").mkdir()
    assert find_roots(str(tmp_path / "home")) == [str(tmp_path / "home" / ".claude")]
    assert find_roots(str(tmp_path / "named")) == [str(tmp_path / "named" / "my claude")]
    assert find_roots(str(tmp_path / "itself")) == [str(tmp_path / "itself")]
    assert find_roots(str(tmp_path / "bare")) == [str(tmp_path / "bare")]


# -- what is refused


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="needs a source"):
        build(" ", tmp_path)
    with pytest.raises(NotFound, match="no such folder"):
        build(tmp_path / "nowhere", tmp_path / "lake")
    (tmp_path / "source").mkdir()
    with pytest.raises(NotFound, match="no folder of a machine"):
        build(tmp_path / "source", tmp_path / "lake")
    (tmp_path / "source" / "laptop").mkdir()
    for name in ("pyarrow", "pyspark.sql"):
        with monkeypatch.context() as missing:
            missing.setitem(sys.modules, name, None)
            with pytest.raises(UsageError, match="pip install 'pyspark"):
                build(tmp_path / "source", tmp_path / "lake")
