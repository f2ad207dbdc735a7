"""How a user's other programs find a server, and get a link from it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from hansard.errors import NotFound
from hansard.web.running_servers import Running, find, path_of, registered
from tests.web.serving import Site, site


@pytest.fixture(scope="module")
def served(demo_store: tuple[Path, Path]) -> Iterator[Site]:
    root, home = demo_store
    with site(home, root) as running:
        yield running


@pytest.fixture
def running(served: Site) -> Running:
    auth = served.auth
    return Running(auth.url, "127.0.0.1", auth.port, os.getpid(), served.settings.home, False, auth.api_token)


def test_a_server_is_found_as_long_as_it_runs(running: Running, tmp_path: Path) -> None:
    folder = str(tmp_path / "web")
    assert find(folder) == []
    with registered(folder, running) as path:
        assert path == path_of(folder, running.port)
        assert find(folder) == [running]
        if os.name == "posix":
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert os.listdir(folder) == []


def test_a_file_that_another_server_took_over_stays(running: Running, tmp_path: Path) -> None:
    other = replace(running, api_token="other")
    with registered(str(tmp_path), running), registered(str(tmp_path), other):
        pass
    assert os.listdir(tmp_path) == []
    with registered(str(tmp_path), other):
        first = registered(str(tmp_path), running)
        with first:
            Path(path_of(str(tmp_path), running.port)).write_bytes(b"{}")
        assert len(os.listdir(tmp_path)) == 1


def test_a_dead_server_is_forgotten(running: Running, tmp_path: Path) -> None:
    gone = replace(running, port=1)
    restarted = replace(running, api_token="of the run before")
    for one in (gone, restarted):
        with registered(str(tmp_path), one):
            assert find(str(tmp_path)) == []
            assert os.listdir(tmp_path) == []
    (tmp_path / "9.json").write_bytes(b"\xff no server")
    (tmp_path / "open-1.html").touch()
    assert find(str(tmp_path)) == []


def test_a_link_lets_a_browser_in(running: Running, served: Site) -> None:
    answer = running.new_link()
    assert sorted(answer) == ["expires_at", "link"]
    with served.stranger() as browser:
        assert browser.get(answer["link"]).status_code == 200
        assert browser.get("/").status_code == 200


def test_who_took_over_a_dead_servers_port_cannot_pass_off_a_link(running: Running) -> None:
    """The name of a server is known to its owner only."""
    died = replace(running, url="http://hansard-0000000000000000.localhost:4567")
    with pytest.raises(NotFound, match="returned no link"):
        died.new_link()
    with pytest.raises(NotFound, match="returned no link"):
        replace(running, api_token="of the run before").new_link()
    with pytest.raises(NotFound, match="is not responding"):
        replace(running, port=1).new_link()


def test_the_file_is_enough_for_a_program(running: Running, tmp_path: Path) -> None:
    with registered(str(tmp_path), running) as path:
        told = httpx.Response(200, content=Path(path).read_bytes()).json()
    assert sorted(told) == ["address", "api_token", "demo", "home", "pid", "port", "url"]
    at = f"http://{told['address']}:{told['port']}"
    answer = httpx.get(f"{at}/api/tags", headers={"authorization": f"Bearer {told['api_token']}"})
    assert answer.status_code == 200
