"""What the app remembers until the next time: the screen, the query, the order."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from hansard.files import write_private

_NAME = "tui.json"


class State(msgspec.Struct, frozen=True):
    """Where the user was."""

    screen: str = "sessions"
    query: str = ""
    scope: str = "all"
    sort: str = "ended"
    group: str = ""
    preview: bool = True
    outline: bool = True
    depth: str = "tools"
    theme: str = ""
    usage_by: str = "day"


def load_state(home: str) -> State:
    """What was remembered; the usual where there is nothing, or nothing that can be read."""
    try:
        with open(os.path.join(home, _NAME), "rb") as file:
            return msgspec.json.decode(file.read(65_536), type=State)
    except (OSError, msgspec.MsgspecError):
        return State()


def save_state(home: str, state: State) -> None:
    """Remember it; where that cannot be written, it is forgotten."""
    try:
        write_private(os.path.join(home, _NAME), msgspec.json.encode(state))
    except OSError:
        return


def changed(state: State, **values: Any) -> State:
    """With other values."""
    return msgspec.structs.replace(state, **values)
