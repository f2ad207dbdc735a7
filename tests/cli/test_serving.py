"""`hansard web` as a program: its link, its options, its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard
from hansard.web.server import DEFAULT_PORT

from .conftest import SESSION

_LINK = re.compile(r"http://(?P<host>\S+?)(?P<path>/\?token=[\w-]+)")


@dataclass(frozen=True)
class Served:
    """A running command, with what it said first."""

    process: subprocess.Popen[str]
    said: str

    @property
    def link(self) -> re.Match[str]:
        found = _LINK.search(self.said)
        assert found, self.said
        return found

    def let_in(self) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        """A connection, and the headers that a browser has after it opened the link."""
        client = http.client.HTTPConnection(self.link["host"], timeout=60)
        client.request("GET", self.link["path"])
        answer = client.getresponse()
        answer.read()
        assert answer.status == 303
        return client, {"cookie": (answer.getheader("set-cookie") or "").split(";")[0]}


@contextmanager
def serving(*arguments: str, **environ: str) -> Iterator[Served]:
    """Run the command until it has said where it is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", "web", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **environ},
    )
    with process:
        assert process.stdout is not None
        try:
            yield Served(process, process.stdout.readline())
        finally:
            process.kill()


def store(root: Path, tmp_path: Path) -> list[str]:
    return ["--root", str(root), "--home", str(tmp_path / "store")]


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_calmly_with_pages_open(root: Path, tmp_path: Path, number: signal.Signals) -> None:
    with serving("--no-open", "--port", "0", *store(root, tmp_path)) as served:
        assert served.said.startswith("Hansard is at http://127.0.0.1:")
        client, headers = served.let_in()
        streams = []
        for _ in range(3):
            stream = http.client.HTTPConnection(served.link["host"], timeout=60)
            stream.request("GET", "/api/events", headers=headers)
            news = stream.getresponse()
            assert news.readline() == b"event: revision\n"
            streams.append((stream, news))
        client.request("GET", "/api/sessions", headers=headers)
        assert client.getresponse().status == 200

        served.process.send_signal(number)

        out, told = served.process.communicate()
        assert served.process.returncode == 0
        for stream, news in streams:
            news.read()
            stream.close()
        client.close()
    assert out == ""
    lines = told.splitlines()
    assert lines[0] == "Ctrl-C ends it."
    assert lines[1].startswith("Let in. For another browser: http://127.0.0.1:")
    assert lines[2:] == []


def test_json_is_one_document_and_opens_nothing(root: Path, tmp_path: Path) -> None:
    with serving("--json", "--port", "0", "--no-sync", *store(root, tmp_path), BROWSER="no-such-browser") as served:
        told = json.loads(served.said)
        assert told["home"] == str(tmp_path / "store")
        assert (told["host"], told["demo"]) == ("127.0.0.1", False)
        assert told["link"].startswith(f"http://127.0.0.1:{told['port']}/?token=")
        client, headers = served.let_in()
        client.request("GET", "/api/sessions", headers=headers)
        assert json.loads(client.getresponse().read())["total"] == 0  # nothing was synced
        client.close()


def test_it_syncs_while_it_serves_and_changes_nothing_when_it_only_reads(root: Path, tmp_path: Path) -> None:
    with serving("--no-open", "--port", "0", "--read-only", *store(root, tmp_path)) as served:
        client, headers = served.let_in()
        stream = http.client.HTTPConnection(served.link["host"], timeout=60)
        stream.request("GET", "/api/events", headers=headers)
        news = stream.getresponse()
        while b'"syncing": false' not in news.readline():
            pass
        client.request("GET", f"/api/sessions/{SESSION}", headers=headers)
        assert json.loads(client.getresponse().read())["session_id"] == SESSION
        origin = {"origin": f"http://{served.link['host']}"}
        client.request("PUT", f"/api/sessions/{SESSION}/pin", headers=headers | origin)
        assert json.loads(client.getresponse().read())["error"]["code"] == "read_only"
        client.close()
        stream.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
def test_the_browser_opens_at_the_link(root: Path, tmp_path: Path) -> None:
    pipe, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(pipe)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{pipe}"\n', encoding="utf-8")
    browser.chmod(0o755)
    with serving("--port", "0", *store(root, tmp_path), BROWSER=str(browser)) as served:
        assert pipe.read_text(encoding="utf-8") == served.link[0]


def test_without_a_history_it_shows_the_demo(home: Path) -> None:
    with serving("--no-open", "--port", "0", "--json") as served:
        told = json.loads(served.said)
        assert told["demo"] is True
        assert told["home"].startswith(str(home))
        client, headers = served.let_in()
        client.request("GET", "/", headers=headers)
        assert "demo" in client.getresponse().read().decode()
        client.close()


def test_a_taken_port_is_stepped_over_unless_it_was_named(root: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            pass  # somebody else has it: the better
        else:
            taken.listen()
        with serving("--no-open", "--json", *store(root, tmp_path)) as served:
            port = json.loads(served.said)["port"]
            assert port > DEFAULT_PORT
            refused = CliRunner().invoke(hansard, ["web", "--no-open", "--port", str(port), *store(root, tmp_path)])
    assert refused.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in refused.stderr
    assert "--port" in refused.stderr


def test_for_other_machines_it_warns_and_shows_a_link_of_this_one(root: Path, tmp_path: Path) -> None:
    everywhere = "0.0.0.0"  # noqa: S104 - what is tested
    with serving("--no-open", "--port", "0", "--host", everywhere, *store(root, tmp_path)) as served:
        client, headers = served.let_in()
        assert served.link["host"].startswith("127.0.0.1:")
        port = served.link["host"].rpartition(":")[2]
        for host, status in ((f"10.1.2.3:{port}", 200), (f"{everywhere}:{port}", 200), (f"evil.example:{port}", 421)):
            client.request("GET", "/api/tags", headers=headers | {"host": host})
            answer = client.getresponse()
            answer.read()
            assert answer.status == status
        client.close()
        served.process.kill()
        assert served.process.stderr is not None
        assert f"{everywhere} is not loopback" in served.process.stderr.readline()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--host", ""], "--host is empty"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["--host", "a" * 300], "cannot listen on"),
        (["--port", "65536"], "--port"),
        (["--demo", "--no-sync"], "--demo makes its own history"),
        (["--demo", "--root", "."], "--demo makes its own history"),
    ],
)
def test_what_cannot_be_served(root: Path, tmp_path: Path, arguments: list[str], word: str) -> None:
    where = ["--home", str(tmp_path / "store")] + ([] if "--demo" in arguments else ["--root", str(root)])
    result = CliRunner().invoke(hansard, ["web", "--no-open", *where, *arguments])
    assert result.exit_code == 2
    assert word in result.stderr
