"""The file that leads the user's browser to a link."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from hansard.web.redirect_file import LINK_SECONDS, RedirectFile

LINK = 'http://hansard-0123456789abcdef.localhost:4567/?token=abc&x="><script>'


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = RedirectFile(str(tmp_path / "home" / "web"), LINK)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "home" / "web").st_mode) == 0o700


def test_it_leads_to_the_link_and_its_own_address_tells_nothing(tmp_path: Path) -> None:
    files = [RedirectFile(str(tmp_path), LINK) for _ in range(2)]
    assert files[0].path != files[1].path
    place = Path(url2pathname(urlsplit(files[0].uri).path))
    assert place == Path(files[0].path)
    text = place.read_text(encoding="utf-8")
    assert (
        '<meta http-equiv="refresh" content="0;url=http://hansard-0123456789abcdef.localhost:4567/?token=abc&amp;x=&quot;'
        in text
    )
    assert "<script>" not in text
    for secret in ("token", "abc", "0123456789abcdef", "4567"):
        assert secret not in files[0].uri.removeprefix(tmp_path.as_uri())


def test_it_is_removed(tmp_path: Path) -> None:
    file = RedirectFile(str(tmp_path), LINK)
    assert file.is_there()
    file.remove()
    assert not file.is_there()
    file.remove()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_server_left_is_removed_when_its_link_has_expired(tmp_path: Path) -> None:
    old, new = RedirectFile(str(tmp_path), LINK), RedirectFile(str(tmp_path), LINK)
    past = time.time() - LINK_SECONDS - 60
    other = tmp_path / "notes.html"
    other.touch()
    for path in (old.path, other):
        os.utime(path, (past, past))
    RedirectFile(str(tmp_path), LINK)
    assert not old.is_there()
    assert new.is_there()
    assert other.exists()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "web").write_text("in the way", encoding="utf-8")
    with pytest.raises(NotADirectoryError):
        RedirectFile(str(tmp_path / "web"), LINK)
