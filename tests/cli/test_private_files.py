"""Whatever Hansard writes from the history is for its owner only, also where the umask would let others read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hansard.cli.commands.demo import scratch_demo
from hansard.cli.commands.usage import save_chart
from hansard.config import Settings

from .conftest import SESSION, Run
from .test_charts import TODAY, months_of_work

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def test_the_data_directory(run: Run, tmp_path: Path) -> None:
    run("sync")
    run("usage")
    run("tag", SESSION, "tide")
    run("statusline", "--refresh")
    assert readable_by_others(tmp_path / "store") == []


def test_the_data_directory_that_the_demo_makes(tmp_path: Path) -> None:
    home = tmp_path / "store"
    scratch_demo(Settings(str(home), (), 1 << 20))
    assert [
        path for path in readable_by_others(home) if ".claude" not in path
    ] == []  # a client's files are as clients leave them


@pytest.mark.parametrize("form", ["html", "markdown", "json", "jsonl", "csv", "parquet"])
def test_exports(run: Run, tmp_path: Path, form: str) -> None:
    if form == "parquet" and find_spec("duckdb") is None:
        pytest.skip("duckdb is an extra")
    run("export", "--all", "--format", form, "--to", str(tmp_path / "out"))
    assert any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    assert readable_by_others(tmp_path / "out") == []


def test_plots(tmp_path: Path) -> None:
    picture = tmp_path / "usage.svg"
    save_chart(str(picture), "bars", months_of_work(), {}, TODAY)
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600


def test_restored_files(run: Run, tmp_path: Path) -> None:
    run("restore", SESSION, "--to", str(tmp_path / "back"))
    assert any(path.suffix == ".jsonl" for path in (tmp_path / "back").rglob("*"))
    assert readable_by_others(tmp_path / "back") == []
