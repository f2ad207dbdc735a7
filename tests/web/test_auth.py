"""One-time tokens, session cookies, and the names of the server."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import pytest

from hansard.web.auth import LOGIN_SECONDS, Auth, LoginFile, hash_session, random_name
from hansard.web.redirect_file import LINK_SECONDS
from hansard.web.server import make_auth

NAME = "hansard-0123456789abcdef.localhost"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared, not bound


class Clock:
    """A clock that stands still until it is told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_token_can_be_used_once() -> None:
    auth = Auth(4567, NAME)
    used: list[str] = []
    auth.on_login = used.append
    token, other = auth.issue_token(), auth.issue_token()
    session = auth.log_in(token)
    assert session is not None
    assert auth.knows_session(session)
    assert auth.log_in(token) is None
    assert auth.log_in(other) not in (None, session)
    assert used == [token, other]


def test_a_token_expires() -> None:
    clock = Clock()
    auth = Auth(4567, NAME, clock=clock)
    first, second = auth.issue_token(), auth.issue_token()
    clock.now += LINK_SECONDS - 1
    assert auth.log_in(first)
    third = auth.issue_token()
    clock.now += 1
    assert auth.log_in(second) is None
    assert auth.log_in(third)
    assert LINK_SECONDS == 300  # as the command line and the documentation say


def test_few_tokens_wait_at_a_time() -> None:
    auth = Auth(4567, NAME)
    tokens = [auth.issue_token() for _ in range(40)]
    assert [auth.log_in(token) is not None for token in tokens] == [False] * 24 + [True] * 16


def test_each_start_has_secrets_of_its_own() -> None:
    """So that nothing that was given by one run of the server is good for the next."""
    first, second = make_auth(4567, "127.0.0.1"), make_auth(4567, "127.0.0.1")
    session, token = first.log_in(first.issue_token()), first.issue_token()
    assert session is not None
    assert not second.knows_session(session)
    assert second.log_in(token) is None
    assert not second.knows_api_token(first.api_token)
    assert first.cookie != second.cookie
    assert first.name != second.name
    assert first.url != second.url
    assert all(len(value) >= 32 for value in (session, token, first.api_token))


def test_secrets_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, known: bytes) -> bool:
        seen.append((given, known))
        return given == known

    monkeypatch.setattr(secrets, "compare_digest", compare)
    auth = Auth(80, "localhost")
    first, second = auth.issue_token(), auth.issue_token()
    session = auth.log_in(first)
    assert len(seen) == 2  # all tokens, whichever fits
    assert auth.log_in(second)
    assert session is not None
    seen.clear()
    assert auth.knows_session(session)
    assert len(seen) == 2
    seen.clear()
    assert auth.knows_api_token(auth.api_token)
    assert len(seen) == 1
    for wrong in ("", "é\ud800", auth.api_token + "x"):
        assert auth.log_in(wrong) is None
        assert not auth.knows_session(wrong)
        assert not auth.knows_api_token(wrong)


# -- the Host header


@pytest.mark.parametrize("host", [f"{NAME}:4567", f"{NAME.upper()}:4567", f"{NAME}.:4567"])
def test_pages_have_a_name_of_their_own(host: str) -> None:
    assert Auth(4567, NAME).answers_to(host) == "pages"


@pytest.mark.parametrize("host", ["127.0.0.1:4567", "localhost:4567", "LocalHost.:4567", "[::1]:4567", "[0:0::1]:4567"])
def test_the_api_is_at_the_loopback_too(host: str) -> None:
    assert Auth(4567, NAME).answers_to(host) == "api"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "localhost:",
        "localhost:80",
        "localhost:4568",
        "localhost:04567x",
        "localhost:4567:4567",
        "localhost:99999",
        "localhost:4567/",
        "localhost:4567?x",
        "localhost:4567#x",
        "user@localhost:4567",
        "evil.example:4567",
        "evil.localhost:4567",
        f"x.{NAME}:4567",
        f"{NAME}.evil.example:4567",
        f"{NAME}:4568",
        "localhost.evil.example:4567",
        "127.0.0.1.evil.example:4567",
        "127.0.0.1.nip.io:4567",
        "evil.example:4567, localhost:4567",
        "127.0.0.2:4567",
        "192.168.1.7:4567",
        "0.0.0.0:4567",
        "2130706433:4567",
        "0x7f000001:4567",
        "127.1:4567",
        "[::1:4567",
        "::1:4567",
        "[localhost]:4567",
        "localhost:\uff14\uff15\uff16\uff17",
        "\uff4cocalhost.evil:4567",
        "\x00localhost:4567",
        " localhost:4567",
        "http://localhost:4567",
    ],
)
def test_names_that_are_not_ours(host: str) -> None:
    assert Auth(4567, NAME).answers_to(host, "127.0.0.1") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_random_name_is_only_known_to_who_was_told(host: str) -> None:
    auth = make_auth(4567, host)
    assert auth.name.endswith(".localhost")
    assert auth.url == f"http://{auth.name}:4567"
    assert len({random_name() for _ in range(100)}) == 100
    assert len(auth.name.removeprefix("hansard-").removesuffix(".localhost")) == 16


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:4567"),
        ("::1", "http://[::1]:4567"),
        ("Mine.localhost.", "http://mine.localhost:4567"),
    ],
)
def test_a_name_can_be_chosen(name: str, url: str) -> None:
    auth = make_auth(4567, "127.0.0.1", name)
    assert auth.url == url
    assert auth.answers_to(url.removeprefix("http://")) == "pages"
    assert auth.answers_to("localhost:4567") == "api"


@pytest.mark.parametrize(
    ("host", "url", "asked", "address", "expected"),
    [
        (EVERYWHERE, "http://127.0.0.1:4567", "127.0.0.1:4567", "127.0.0.1", True),
        (EVERYWHERE, "http://127.0.0.1:4567", "10.0.0.9:4567", "10.0.0.9", True),
        (EVERYWHERE, "http://127.0.0.1:4567", "10.0.0.9:4567", "127.0.0.1", False),
        (EVERYWHERE, "http://127.0.0.1:4567", "0.0.0.0:4567", "127.0.0.1", False),
        (EVERYWHERE, "http://127.0.0.1:4567", "machine.local:4567", "10.0.0.9", False),
        ("::", "http://[::1]:4567", "10.0.0.9:4567", "::ffff:10.0.0.9", True),
        ("10.0.0.9", "http://10.0.0.9:4567", "10.0.0.9:4567", "10.0.0.9", True),
        ("10.0.0.9", "http://10.0.0.9:4567", "10.0.0.8:4567", "10.0.0.9", False),
        ("Machine.local.", "http://machine.local:4567", "machine.LOCAL:4567", "10.0.0.9", True),
        (
            "127.0.0.2",
            "http://127.0.0.2:4567",
            "127.0.0.2:4567",
            "127.0.0.2",
            True,
        ),  # names under .localhost are 127.0.0.1
    ],
)
def test_a_server_for_others_has_its_name_and_the_address_it_was_reached_at(
    host: str, url: str, asked: str, address: str, expected: bool
) -> None:
    auth = make_auth(4567, host)
    assert auth.url == url
    assert (auth.answers_to(asked, address) == "pages") is expected


def test_the_usual_port_need_not_be_named() -> None:
    assert Auth(80, "localhost").answers_to("localhost") == "pages"


def _started(folder: Path, *, keep: bool, now: float = 1e9) -> Auth:
    return make_auth(
        4567, "127.0.0.1", None, LoginFile(str(folder / "login.json"), keep_logins=keep, clock=lambda: now)
    )


def test_a_name_lasts_as_long_as_the_data_directory(tmp_path: Path) -> None:
    first, second, elsewhere = (_started(tmp_path / name, keep=False) for name in ("a", "a", "b"))
    assert first.name == second.name != elsewhere.name
    session = first.log_in(first.issue_token())
    assert session is not None
    assert not second.knows_session(session)  # nothing else does
    assert first.cookie != second.cookie
    assert first.api_token != second.api_token


def test_a_login_is_kept_only_if_that_is_wanted(tmp_path: Path) -> None:
    session = (first := _started(tmp_path, keep=True)).log_in(first.issue_token())
    assert session is not None
    again = _started(tmp_path, keep=True, now=1e9 + LOGIN_SECONDS - 1)
    assert again.knows_session(session)
    assert again.cookie == first.cookie
    assert not again.knows_session(hash_session(session))  # who reads the file is not let in
    assert session not in (tmp_path / "login.json").read_text()
    assert not _started(tmp_path, keep=True, now=1e9 + LOGIN_SECONDS + 1).knows_session(session)  # and it is forgotten
    session = (third := _started(tmp_path, keep=True)).log_in(third.issue_token())
    assert session is not None
    assert not _started(tmp_path, keep=False).knows_session(session)
    assert not _started(tmp_path, keep=True).knows_session(session)  # not wanting it forgets it


def test_two_servers_of_one_name_know_each_others_logins(tmp_path: Path) -> None:
    one, other = _started(tmp_path, keep=True), _started(tmp_path, keep=True)
    session = other.log_in(other.issue_token())
    assert session is not None
    assert one.knows_session(session)


@pytest.mark.skipif(os.name == "nt", reason="no modes")
def test_the_file_is_private(tmp_path: Path) -> None:
    _started(tmp_path / "web", keep=True)
    assert (tmp_path / "web" / "login.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"name": "evil.example", "cookie": "x; Domain=y", "logins": [1]}', b"\xff"]
)
def test_a_file_that_says_nonsense_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "login.json").write_bytes(content)
    auth = _started(tmp_path, keep=True)
    assert re.fullmatch(r"hansard-[0-9a-f]{16}\.localhost", auth.name)
    assert re.fullmatch(r"hansard-[0-9a-f]{16}", auth.cookie)
    assert _started(tmp_path, keep=True).name == auth.name
