"""Opening the user's browser at a link that no other user can see.

Every user of a machine can read every command line (`ps`), so the browser is not given the link but the address of a file that
leads there, which only its owner can read.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from html import escape
from pathlib import Path

from hansard.files import make_private_folder, write_private

LINK_SECONDS = 300.0
"""For how long a link can be opened."""

_PREFIX, _SUFFIX = "open-", ".html"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={link}">
<title>Hansard</title>
</head>
<body><p><a href="{link}">Continue to Hansard</a></p></body>
</html>
"""


def login_link(url: str, token: str, path: str) -> str:
    """A page's address that lets a browser in; `path` may have a query and a fragment."""
    page, sign, fragment = path.partition("#")
    return f"{url}{page}{'&' if '?' in page else '?'}token={token}{sign}{fragment}"


class RedirectFile:
    """A page on disk that redirects to a link, until it is removed."""

    def __init__(self, folder: str, link: str) -> None:
        make_private_folder(folder)
        _remove_stale(folder)
        self.path = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        write_private(self.path, _PAGE.format(link=escape(link)).encode())

    @property
    def uri(self) -> str:
        """The address that the browser opens."""
        return Path(self.path).absolute().as_uri()

    def is_there(self) -> bool:
        """Whether it was not removed yet."""
        return os.path.exists(self.path)

    def remove(self) -> None:
        """Take it away; where somebody has it open and the system forbids it, the next server does."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def open_in_browser(uri: str) -> None:
    """Open the user's browser, from a thread: some wait until they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(uri,), daemon=True).start()


def _remove_stale(folder: str) -> None:
    """Remove what servers that were killed left behind, once its links have expired."""
    latest = time.time() - LINK_SECONDS
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < latest:
                        os.unlink(entry.path)
