"""A small invented history of each client that comes with Hansard, for the tests that all of them have to pass.

To add one: write `tests/clients/<client>/history.py` with a function `write(root)`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.clients.aider import history as aider
from tests.clients.amp import history as amp
from tests.clients.atif import history as atif
from tests.clients.chatgpt import history as chatgpt
from tests.clients.claude_ai import history as claude_ai
from tests.clients.cline import history as cline
from tests.clients.codex import history as codex
from tests.clients.continue_dev import history as continue_dev
from tests.clients.copilot_chat import history as copilot_chat
from tests.clients.copilot_cli import history as copilot_cli
from tests.clients.crush import history as crush
from tests.clients.cursor import history as cursor
from tests.clients.droid import history as droid
from tests.clients.gemini import history as gemini
from tests.clients.goose import history as goose
from tests.clients.opencode import history as opencode
from tests.clients.qwen import history as qwen
from tests.clients.zed import history as zed

_TASK = (cline.write, cline.TASK, "Emden", 2, 3, (20, 40, 80, 60), False)


class History(NamedTuple):
    """A history, and what is in it."""

    write: Callable[[Path], None]
    """Fills an empty directory, which is the client's root then."""
    session: str
    word: str  # that only a prompt of that session has
    prompts: int  # of that session
    calls: int
    tokens: tuple[int, int, int, int]  # of all sessions: input, output, cache reads, cache writes
    is_log: bool = True  # its files grow: any beginning of them may be there at first
    is_files: bool = True  # its files are stored as they are, so `restore` gives them back
    folder: str = "root"  # the name of the directory
    has_cost: bool = False  # the client recorded what a session cost, if not its tokens


_rows = partial(History, is_log=False, is_files=False)
"""Of a client that keeps its sessions in a database."""

HISTORIES: dict[str, History] = {
    "atif": History(atif.write, atif.SESSION, "Emden", 2, 3, (117, 38, 160, 0), is_log=False),
    "aider": History(aider.write, aider.RUN, "Emden", 2, 1, (2200, 594, 900, 1100), is_log=False),
    "amp": History(amp.write, amp.THREAD, "Emden", 1, 2, (10, 100, 1400, 120), is_log=False),
    "continue": History(continue_dev.write, continue_dev.SESSION, "Emden", 1, 1, (100, 20, 30, 40), is_log=False),
    "droid": History(droid.write, droid.SESSION, "Emden", 1, 1, (100, 20, 300, 0), is_log=False),
    "chatgpt": History(chatgpt.write, chatgpt.CONVERSATION, "Emden", 3, 1, (0, 0, 0, 0), is_log=False),
    "claude-ai": History(claude_ai.write, claude_ai.CONVERSATION, "Emden", 2, 1, (0, 0, 0, 0), is_log=False),
    "cline": History(*_TASK),
    "roo": History(*_TASK, folder="rooveterinaryinc.roo-cline"),
    "kilo": History(*_TASK, folder="kilocode.kilo-code"),
    "copilot-chat": History(copilot_chat.write, copilot_chat.SESSION, "Emden", 2, 2, (300, 30, 0, 0)),
    "copilot-cli": History(copilot_cli.write, copilot_cli.SESSION, "Emden", 3, 4, (520, 59, 720, 10)),
    "gemini": History(gemini.write, gemini.SESSION, "Emden", 3, 2, (300, 75, 200, 0)),
    "qwen": History(qwen.write, qwen.SESSION, "Emden", 2, 3, (300, 50, 200, 0)),
    "codex": History(codex.write, codex.THREAD, "Emden", 3, 5, (1706, 192, 6490, 4)),
    "crush": _rows(crush.write, crush.SESSION, "Emden", 1, 2, (0, 0, 0, 0), has_cost=True),
    "cursor": _rows(cursor.write, cursor.SESSION, "Emden", 1, 2, (120, 30, 0, 0)),
    "goose": _rows(goose.write, goose.SESSION, "Emden", 1, 2, (303, 44, 0, 0)),
    "opencode": _rows(opencode.write, opencode.SESSION, "Norddeich", 2, 4, (48, 75, 1600, 400)),
    "zed": _rows(zed.write, zed.SESSION, "Emden", 1, 2, (50, 20, 7, 5)),
}
