"""The socket, the link and the settings of the server."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.config import Settings
from hansard.errors import UsageError
from hansard.web import server
from hansard.web.app import make_app
from hansard.web.auth import Auth
from hansard.web.redirect_file import RedirectFile
from hansard.web.server import DEFAULT_PORT, ServeCallbacks, Server, Started, configured, is_loopback, listen, serve
from tests.web.serving import elsewhere

if TYPE_CHECKING:
    import uvicorn


def test_a_port_is_found() -> None:
    with listen("127.0.0.1", 0) as first, listen("localhost", None) as second:
        assert first.getsockname()[0] == second.getsockname()[0] == "127.0.0.1"
        assert first.getsockname()[1] > 0
        assert second.getsockname()[1] >= DEFAULT_PORT
        with pytest.raises(UsageError, match=r"cannot listen on 127\.0\.0\.1"):
            listen("127.0.0.1", first.getsockname()[1])
        with listen("127.0.0.1", None) as third:
            assert third.getsockname()[1] != second.getsockname()[1]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_the_newer_protocol_too() -> None:
    try:
        listener = listen("::1", 0)
    except UsageError:
        pytest.skip("no IPv6 on the loopback")
    with listener:
        assert listener.family is socket.AF_INET6


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - compared, not bound
        ("::", False),
        ("10.0.0.1", False),
        ("machine.local", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_little_is_told_about_the_server(tmp_path: Path) -> None:
    config = configured(make_app(Settings(str(tmp_path), (), 0), Auth(1, "localhost"), syncing=False))
    assert not config.server_header
    assert not config.date_header
    assert not config.access_log
    assert not config.proxy_headers
    assert config.h11_max_incomplete_event_size == 32_768
    assert config.timeout_graceful_shutdown is not None


class Told:
    """What a server told, and a way to end it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        self.starts: list[Started] = []
        self.opened: list[str] = []
        self.servers: list[Server] = []
        told = self

        class Recorded(Server):
            def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
                super().__init__(config, ready)
                told.servers.append(self)

        monkeypatch.setattr(server, "Server", Recorded)

    def serve(self, home: Path, *, until: str, browser: bool = True, **options: Any) -> None:
        """Serve until something happens."""

        def hear(event: str) -> None:
            self.events.append(event)
            if event == until:
                self.servers[-1].stop()

        def started(what: Started) -> None:
            self.starts.append(what)
            hear("started")

        narrator = ServeCallbacks(
            started=started,
            logged_in=lambda: hear("logged in"),
            unseen=lambda: hear("unseen"),
            unwritten=lambda _: hear("unwritten"),
        )
        opened = self.opened.append if browser else None
        given = {"host": "127.0.0.1", "port": 0, "folder": str(home / "web"), **options}
        elsewhere(lambda: serve(Settings(str(home), (), 0), narrator, browser=opened, **given))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, r"hansard-[0-9a-f]{16}\.localhost"),
        ({"host": "0.0.0.0"}, r"127\.0\.0\.1"),  # noqa: S104 - what is tested
        ({"host_name": "mine.localhost"}, r"mine\.localhost"),
    ],
)
def test_a_link_is_told_when_the_server_is_there(
    tmp_path: Path, told: Told, options: dict[str, Any], name: str
) -> None:
    told.serve(tmp_path, until="started", browser=False, path="/usage", **options)
    (start,) = told.starts
    assert re.fullmatch(rf"http://{name}:{start.running.port}/usage\?token=[\w-]{{32}}", start.link)
    assert start.link.startswith(start.running.url)
    assert start.file == str(tmp_path / "web" / f"{start.running.port}.json")
    assert os.listdir(tmp_path / "web") == []  # it stopped


def test_what_goes_wrong_at_the_start_ends_it(tmp_path: Path) -> None:
    class EndError(Exception):
        pass

    def fail(_: str) -> None:
        raise EndError

    with pytest.raises(EndError):
        elsewhere(
            lambda: serve(
                Settings(str(tmp_path), (), 0),
                ServeCallbacks(*[lambda *_: None] * 4),
                folder=str(tmp_path / "web"),
                port=0,
                browser=fail,
            )
        )
    assert os.listdir(tmp_path / "web") == []


def test_a_browser_that_does_not_come_is_told_and_its_file_expires(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "NO_BROWSER_SECONDS", 0.0)
    told.serve(tmp_path, until="unseen")
    assert told.events == ["started", "unseen"]
    (uri,) = told.opened
    (start,) = told.starts
    assert uri.startswith((tmp_path / "web").as_uri())
    assert start.link.partition("token=")[2] not in uri
    assert os.listdir(tmp_path / "web") == []


def test_the_file_of_a_link_goes_when_the_link_expires(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[list[str]] = []

    class Watched(RedirectFile):
        def remove(self) -> None:
            super().remove()
            removed.append([name for name in os.listdir(tmp_path / "web") if name.endswith(".html")])
            told.servers[-1].stop()

    monkeypatch.setattr(server, "RedirectFile", Watched)
    monkeypatch.setattr(server, "LINK_SECONDS", 0.0)
    told.serve(tmp_path, until="")
    assert removed[0] == []
    assert told.events == ["started"]


def test_a_data_directory_that_cannot_be_written_is_told_and_no_reason_not_to_serve(tmp_path: Path, told: Told) -> None:
    (tmp_path / "web").write_text("in the way", encoding="utf-8")
    told.serve(tmp_path, until="started")
    assert told.events == ["unwritten", "started"]
    assert told.starts[0].file is None
    assert told.opened == []
