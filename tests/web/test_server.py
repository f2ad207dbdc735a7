"""The socket, the link and the settings of the server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hansard.config import Settings
from hansard.errors import UsageError
from hansard.web.app import make_app
from hansard.web.guard import Door
from hansard.web.server import DEFAULT_PORT, configured, is_loopback, listen, serve
from tests.web.serving import elsewhere


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
    config = configured(make_app(Settings(str(tmp_path), (), 0), Door([], 1), syncing=False))
    assert not config.server_header
    assert not config.date_header
    assert not config.access_log
    assert not config.proxy_headers
    assert config.h11_max_incomplete_event_size == 32_768
    assert config.timeout_graceful_shutdown is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - what is tested
def test_a_link_is_told_when_the_server_is_there(tmp_path: Path, host: str) -> None:
    """And what goes wrong at that moment ends it."""
    told: list[tuple[str, int]] = []

    class EndError(Exception):
        pass

    def opened(link: str, port: int) -> None:
        told.append((link, port))
        raise EndError

    with pytest.raises(EndError):
        elsewhere(
            lambda: serve(
                Settings(str(tmp_path), (), 0), host=host, port=0, path="/usage", opened=opened, again=lambda _: None
            )
        )
    ((link, port),) = told
    assert link.startswith(f"http://127.0.0.1:{port}/usage?token=")
