"""Pictures of a transcript, shown by terminals that can: kitty's protocol and iTerm2's; else opened by the system."""

from __future__ import annotations

import base64
import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hansard.model.display import Picture
from hansard.tui.thread_lines import BUDGET, ThreadKey

if TYPE_CHECKING:
    from textual.app import App

    from hansard.engine import Hansard
    from hansard.model.display import Item

_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_PIECE = 4096  # characters of base64 in one of kitty's sequences
_INLINE = frozenset({"iTerm.app", "WezTerm", "mintty", "vscode", "rio"})


def read_pictures(h: Hansard, key: ThreadKey, item: Item) -> list[Picture]:
    """The pictures of an item with their data; of other kinds than images none."""
    thread = h.read(key.session_id, key.agent, key.branch, subagents=False, long_lines=False)
    window = thread.windows.around(item.offset, BUDGET)
    for turn in thread.window(window):
        for one in turn.items:
            if one.anchor == item.anchor:
                parts = (*one.parts, *one.results)
                return [part for part in parts if isinstance(part, Picture) and _is_whole(part)]
    return []


def _is_whole(picture: Picture) -> bool:
    """Whether a picture has a supported type and valid data."""
    if picture.media_type not in _ENDINGS or not picture.data:
        return False
    try:
        base64.b64decode(picture.data, validate=True)
    except ValueError:
        return False
    return True


def protocol(environment: Mapping[str, str]) -> str:
    """How the terminal takes pictures: kitty, iterm, or not at all."""
    if "TMUX" in environment:
        return ""
    if "KITTY_WINDOW_ID" in environment or environment.get("TERM_PROGRAM") == "ghostty":
        return "kitty"
    return "iterm" if environment.get("TERM_PROGRAM") in _INLINE else ""


def sequences(picture: Picture, how: str) -> Iterator[str]:
    """The escape sequences of a picture; its data is validated as base64."""
    data = base64.b64encode(base64.b64decode(picture.data, validate=True)).decode("ascii")
    if how == "iterm":
        yield f"\x1b]1337;File=inline=1;preserveAspectRatio=1:{data}\x07"
        return
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
    for number, piece in enumerate(pieces):
        more = int(number + 1 < len(pieces))
        yield f"\x1b_Ga=T,f=100,m={more};{piece}\x1b\\" if number == 0 else f"\x1b_Gm={more};{piece}\x1b\\"


def show_pictures(app: App[Any], pictures: Sequence[Picture]) -> None:
    """Show pictures in place of the app until enter is pressed; or open them where the terminal cannot show them."""
    how = protocol(os.environ)
    shown = [one for one in pictures if how == "iterm" or (how == "kitty" and one.media_type == "image/png")]
    if shown:
        with app.suspend():
            for picture in shown:
                sys.stderr.write("".join(sequences(picture, how)) + "\n")
            sys.stderr.write("press enter to go back ")
            sys.stderr.flush()
            sys.stdin.readline()
        app.refresh()
        return
    folder = tempfile.mkdtemp(prefix="hansard-pictures-")
    for number, picture in enumerate(pictures, 1):
        path = os.path.join(folder, f"{number}{_ENDINGS[picture.media_type]}")
        with open(path, "xb") as file:
            file.write(base64.b64decode(picture.data))
        webbrowser.open(f"file://{path}")
