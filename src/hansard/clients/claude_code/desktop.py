"""What Claude's desktop app keeps of Claude Code: sessions of its own (Cowork), and the titles of those it started.

A session of its own has a config directory of its own, `ORGANIZATION/ACCOUNT/local_ID/.claude`, which is like `~/.claude`. A file beside
it, `local_ID.json`, has the title and the id that the transcript has.
"""

import os

from hansard.clients.claude_code.layout import FOLDERS
from hansard.clients.claude_code.roots import DESKTOP_FOLDERS
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

_CONFIG = LayoutFolder(folders=FOLDERS, deeper=NOT_KEPT)
# A log for auditing has the same messages again; other folders have the user's files.
_SESSION = LayoutFolder(folders={".claude": _CONFIG}, deeper=NOT_KEPT)
_ABOUT = (("local_", ".json", FileKind.TITLE),)
_ACCOUNT = LayoutFolder(
    patterns=_ABOUT, folders={"agent": LayoutFolder(patterns=_ABOUT, deeper=_SESSION)}, deeper=_SESSION
)
_LAYOUTS = {
    name: Layout(main=name, folders={name: LayoutFolder(deeper=LayoutFolder(deeper=_ACCOUNT))})
    for name in DESKTOP_FOLDERS
}


def open_desktop(real: str, client: str) -> Root:
    """One of the two folders as a root; nothing is written there, so it has no config directory."""
    name = os.path.basename(real)
    return Root(real, name, client, _LAYOUTS[name], real, None)
