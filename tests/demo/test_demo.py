import os
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hansard import demo
from tests.demo_history.history import write_history
from tests.demo_history.reading import digest
from tools.make_demo import pack

posix = pytest.mark.skipif(os.name != "posix", reason="modes and tzset are POSIX")


def modes(root: Path) -> dict[str, int]:
    return {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@posix
@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("now", "zone"),
    [
        (datetime(2026, 11, 15, 18, 30, tzinfo=UTC), "UTC"),
        # Twelve hours before the end is within the working hours of the day before.
        (datetime(2027, 3, 1, 0, 7, 13, 999_999, tzinfo=UTC), "Asia/Kathmandu"),
        # Clocks have just been set back.
        (datetime(2027, 11, 7, 6, 10, tzinfo=UTC), "America/New_York"),
    ],
    indirect=["zone"],
)
def test_unpacks_what_the_generator_writes(now: datetime, tmp_path: Path) -> None:
    write_history(tmp_path / "generated", now=now)
    demo.write_history(tmp_path / "unpacked", now=now)
    assert digest(tmp_path / "unpacked") == digest(tmp_path / "generated")
    assert modes(tmp_path / "unpacked") == modes(tmp_path / "generated")


@posix
def test_the_packed_file_is_current() -> None:
    # The compressed bytes depend on the version of zstd, so the content is compared.
    assert demo.load() == pack(), "run `python -m tools.make_demo`"


def test_packed_size() -> None:
    assert os.path.getsize(demo.PACKED) < 400_000


def test_ends_at_the_present_by_default(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    demo.write_history(tmp_path)
    newest = max(path.stat().st_mtime for path in tmp_path.rglob("*.jsonl"))
    assert before - timedelta(hours=2) < datetime.fromtimestamp(newest, UTC) <= datetime.now(UTC)
