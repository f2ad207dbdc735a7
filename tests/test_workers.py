"""Helper processes: what is sent arrives, what goes wrong is told, and nothing outlives whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import workers
from hansard.errors import HansardError, StoreCorrupt
from hansard.export.files import NotWritten
from hansard.query.language import QueryError
from hansard.workers import Channel, Worker

THIS = "tests.test_workers"


def echo(channel: Channel, *job: Any) -> None:
    """A worker that says its job, and then whatever it is told."""
    print("a line that is no message")  # noqa: T201 - what some library may do
    channel.send("job", *job)
    while (message := channel.receive()) is not None:
        channel.send(*message)


def hold(channel: Channel, path: str) -> None:
    """A worker that has a file open until it is told its end."""
    with open(path, "wb"):
        echo(channel)


def fail(channel: Channel, name: str) -> None:
    """A worker that raises."""
    channel.send("begun")
    errors: dict[str, Exception] = {
        "corrupt": StoreCorrupt("page 7"),
        "not written": NotWritten("no space"),
        "query": QueryError("no such field", "x:y", 0),
        "bug": KeyError("place"),
    }
    raise errors[name]


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


@pytest.fixture(scope="module")
def echoing() -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        worker = Worker(f"{THIS}:echo", "a", 7, None)
    with closing(worker):
        assert worker.receive() == ("job", "a", 7, None)
        yield worker


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(st.lists(values, max_size=5))
@settings(deadline=None, max_examples=50)
def test_what_is_sent_arrives(echoing: Worker, message: list[object]) -> None:
    assert echoing.send(0, *message)
    assert echoing.receive() == (0, *message)


def test_a_message_larger_than_a_pipe(echoing: Worker) -> None:
    assert echoing.send(0, b"x" * 5_000_000)
    assert echoing.receive() == (0, b"x" * 5_000_000)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("corrupt", StoreCorrupt, "page 7"),
        ("not written", NotWritten, "no space"),
        ("query", QueryError, "no such field"),
        ("bug", HansardError, "KeyError: 'place'"),
    ],
)
def test_an_error_comes_with_its_class(name: str, kind: type[HansardError], text: str) -> None:
    with closing(Worker(f"{THIS}:fail", name)) as worker:
        assert worker.receive() == ("begun",)
        with pytest.raises(kind, match=text) as raised:
            worker.receive()
        assert type(raised.value) is kind
        assert worker.receive() is None


def test_a_worker_that_was_killed() -> None:
    with closing(Worker(f"{THIS}:echo")) as worker:
        assert worker.receive() == ("job",)
        worker.kill()
        assert worker.receive() is None
        worker.process.wait()
        assert not worker.send("x" * 1_000_000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a POSIX system")
def test_a_worker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    code = f"""if True:
        import os, signal
        from hansard.workers import Worker
        worker = Worker("{THIS}:hold", {str(held)!r})
        worker.receive()
        os.kill(os.getpid(), signal.SIGKILL)"""
    with subprocess.Popen([sys.executable, "-c", code]) as parent, held.open("rb") as reading:
        assert parent.wait() == -signal.SIGKILL
        assert reading.read() == b""  # its end: nobody has the other side any more


def test_no_main_of_the_caller_is_imported(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"from hansard.workers import Worker\nprint('started')\nworker = Worker('{THIS}:echo')\n"
        "print(worker.receive())\nworker.close()\n"
    )
    (tmp_path / "marshal.py").write_text("raise SystemExit('imported')")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["started", "('job',)", ""]


def test_where_no_process_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "command", lambda: ["no-such-program-anywhere"])
    with pytest.raises(OSError, match="no-such-program"):
        Worker(f"{THIS}:echo")
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(OSError, match="own path"):
        Worker(f"{THIS}:echo")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be asked there")
def test_whether_there_is_a_message_can_be_asked_without_waiting() -> None:
    with closing(Worker(f"{THIS}:echo")) as worker:
        assert worker.receive() == ("job",)
        assert not worker.has_message()
        assert worker.send("more")
        while not worker.has_message():
            pass
        assert worker.receive() == ("more",)
