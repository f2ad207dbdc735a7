"""`hansard web` as a program: its link, its options, its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from click.testing import CliRunner, Result

from hansard.cli.app import hansard
from hansard.web.server import DEFAULT_PORT

from .conftest import SESSION

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_LINK = re.compile(r"http://(?P<host>[\w.-]+:(?P<port>\d+))(?P<path>/\?token=(?P<token>[\w-]+))")


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

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", int(self.link["port"]), timeout=60)

    def let_in(self) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        """A connection, and the headers that a browser has after it opened the link."""
        client = self.connect()
        client.request("GET", self.link["path"], headers={"host": self.link["host"]})
        answer = client.getresponse()
        answer.read()
        assert answer.status == 200
        return client, {"host": self.link["host"], "cookie": (answer.getheader("set-cookie") or "").split(";")[0]}


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
        assert served.said.startswith("Hansard is at http://hansard-")
        client, headers = served.let_in()
        streams = []
        for _ in range(3):
            stream = served.connect()
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
    assert lines[0] == "The link works once, within five minutes. Ctrl-C stops the server."
    assert lines[1].startswith("A browser is logged in. For another one: hansard web --link --home ")
    assert "http:" not in lines[1]  # nobody asked for a link
    assert lines[2:] == []
    assert os.listdir(tmp_path / "store" / "web") == []


def test_json_is_one_document_and_opens_nothing(root: Path, tmp_path: Path) -> None:
    with serving("--json", "--port", "0", "--no-sync", *store(root, tmp_path), BROWSER="no-such-browser") as served:
        told = json.loads(served.said)
        assert told["home"] == str(tmp_path / "store")
        assert (told["host"], told["demo"]) == ("127.0.0.1", False)
        assert sorted(told) == ["demo", "file", "home", "host", "link", "port", "url"]
        assert told["link"].startswith(f"{told['url']}/?token=")
        assert told["url"].endswith(f".localhost:{told['port']}")
        assert told["file"] == str(tmp_path / "store" / "web" / f"{told['port']}.json")
        client, headers = served.let_in()
        client.request("GET", "/api/sessions", headers=headers)
        assert json.loads(client.getresponse().read())["total"] == 0  # nothing was synced
        client.close()


def test_it_syncs_while_it_serves_and_changes_nothing_when_it_only_reads(root: Path, tmp_path: Path) -> None:
    with serving("--no-open", "--port", "0", "--read-only", *store(root, tmp_path)) as served:
        client, headers = served.let_in()
        stream = served.connect()
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


@dataclass(frozen=True)
class Opened:
    """A server that opened a browser, with the command line that the browser was given."""

    served: Served
    arguments: list[str]

    @property
    def file(self) -> Path:
        return Path(url2pathname(urlsplit(self.arguments[0]).path))


@contextmanager
def opening(tmp_path: Path, *arguments: str) -> Iterator[Opened]:
    """Run the command with a browser that writes down its command line."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes there")
    pipe, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(pipe)
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{pipe}"\n', encoding="utf-8")
    browser.chmod(0o755)
    with serving("--port", "0", *arguments, BROWSER=str(browser)) as served:
        yield Opened(served, pipe.read_text(encoding="utf-8").splitlines())


def test_the_browsers_command_line_holds_no_secret(root: Path, tmp_path: Path) -> None:
    """Every user of the machine can read it."""
    with opening(tmp_path, *store(root, tmp_path)) as opened:
        link = opened.served.link
        assert len(opened.arguments) == 1
        assert opened.arguments[0].startswith("file://")
        for secret in (link["token"], link["host"].partition(".")[0]):
            assert secret not in " ".join(opened.arguments)
        assert link[0] in opened.file.read_text(encoding="utf-8")
        assert stat.S_IMODE(opened.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(opened.file.parent.stat().st_mode) == 0o700

        opened.served.let_in()[0].close()
        assert not opened.file.exists()


def test_the_file_goes_with_the_server(root: Path, tmp_path: Path) -> None:
    with opening(tmp_path, *store(root, tmp_path)) as opened:
        assert opened.file.exists()
        opened.served.process.terminate()
        opened.served.process.communicate()
        assert os.listdir(tmp_path / "store" / "web") == []


def test_a_real_browser_is_let_in_and_gives_the_cookie_to_nobody_else(
    root: Path, tmp_path: Path, chromium: Browser
) -> None:
    heard: list[str] = []

    class Other(BaseHTTPRequestHandler):
        """Another program's server on this machine."""

        def do_GET(self) -> None:
            heard.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with opening(tmp_path, *store(root, tmp_path)) as opened, ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        at = f"http://{opened.served.link['host']}"
        context = chromium.new_context()
        page = context.new_page()

        page.goto(opened.arguments[0])
        page.wait_for_url(f"{at}/")

        page.wait_for_selector("nav.places")
        assert not opened.file.exists()
        assert page.goto(f"{at}/sessions").status == 200  # type: ignore[union-attr] # there is an answer
        (cookie,) = context.cookies()
        assert (cookie["domain"], cookie["path"]) == (opened.served.link["host"].partition(":")[0], "/")
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        for name in ("127.0.0.1", "localhost", "other.localhost"):
            page.goto(f"http://{name}:{other.server_port}/")
        assert set(heard) == {""}

        stranger = chromium.new_context()
        refused = stranger.new_page().goto(opened.served.link[0])
        assert refused is not None
        assert refused.status == 401
        assert "hansard web --link" in refused.text()
        stranger.close()
        context.close()
        other.shutdown()


def test_a_plain_name_for_browsers_that_know_no_other(root: Path, tmp_path: Path) -> None:
    given = ["--no-open", "--port", "0", "--host-name", "127.0.0.1"]
    with serving(*given, *store(root, tmp_path)) as served:
        assert served.link["host"] == f"127.0.0.1:{served.link['port']}"
        client, headers = served.let_in()
        client.request("GET", "/", headers=headers)
        assert client.getresponse().status == 200
        client.close()


# -- a server that runs already


def test_a_link_for_another_browser(root: Path, tmp_path: Path) -> None:
    def web(*arguments: str) -> Result:
        return CliRunner().invoke(hansard, ["web", *arguments, *store(root, tmp_path)], prog_name="hansard")

    none = web("--link")
    assert none.exit_code == 1
    assert "no server is running" in none.stderr
    with serving("--no-open", "--port", "0", *store(root, tmp_path)) as served:
        served.let_in()[0].close()
        printed = web("--link")
        assert printed.exit_code == 0
        assert printed.stderr == "It works once, within five minutes.\n"
        again = Served(served.process, printed.stdout)
        assert again.link["host"] == served.link["host"]
        assert again.link["token"] != served.link["token"]
        again.let_in()[0].close()

        told = json.loads(web("--link", "--json", "--port", served.link["port"]).stdout)
        assert sorted(told) == ["demo", "expires_at", "home", "link", "port", "url"]
        assert web("--link", "--port", "1").exit_code == 1

        second = web("--no-open")
        assert second.exit_code == 2
        assert f"a server on port {served.link['port']} already serves this history" in second.stderr
        assert "web --link" in second.stderr
        assert "token" not in second.output
        with serving("--no-open", "--port", "0", *store(root, tmp_path)) as other:
            several = web("--link")
            assert several.exit_code == 2
            assert "choose one with --port" in several.stderr
            assert web("--link", "--port", other.link["port"]).exit_code == 0


def test_a_server_that_was_killed_is_in_nobodys_way(root: Path, tmp_path: Path) -> None:
    with serving("--no-open", "--port", "0", *store(root, tmp_path)) as served:
        served.process.kill()
        served.process.communicate()
    assert len(os.listdir(tmp_path / "store" / "web")) == 1
    with serving("--no-open", *store(root, tmp_path)) as served:
        served.let_in()[0].close()
        assert os.listdir(tmp_path / "store" / "web") == [f"{served.link['port']}.json"]


def test_the_demo_has_links_too(home: Path) -> None:
    with serving("--no-open", "--json") as served:
        port = json.loads(served.said)["port"]
        printed = CliRunner().invoke(hansard, ["web", "--link"])
        assert f":{port}/?token=" in printed.stdout


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
        for host, status in (
            (f"127.0.0.1:{port}", 200),
            (f"localhost:{port}", 200),
            (f"10.1.2.3:{port}", 421),  # the connection did not come there
            (f"{everywhere}:{port}", 421),
            (f"evil.example:{port}", 421),
        ):
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
        (["--host-name", "two words"], "--host-name"),
        (["--host-name", "http://x"], "--host-name"),
        (["--host-name", "x:1"], "--host-name"),
        (["--host-name", ""], "--host-name"),
        (["--link", "--read-only"], "cannot be used with options of a new server"),
        (["--link", "--demo"], "cannot be used with options of a new server"),
        (["--demo", "--no-sync"], "--demo cannot be used with"),
        (["--demo", "--root", "."], "--demo cannot be used with"),
    ],
)
def test_what_cannot_be_served(root: Path, tmp_path: Path, arguments: list[str], word: str) -> None:
    where = ["--home", str(tmp_path / "store")] + ([] if "--demo" in arguments else ["--root", str(root)])
    result = CliRunner().invoke(hansard, ["web", "--no-open", *where, *arguments])
    assert result.exit_code == 2
    assert word in result.stderr
