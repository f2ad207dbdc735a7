"""The clients whose histories are read: one folder for each knows its files, its format and the names of its tools.

`protocol.py` says what a client has to tell; the other modules beside the folders hold what clients share. A package
that is installed adds a client with an entry point in the group `hansard.clients`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.errors import UsageError
from hansard.model.tools import CLAUDE_CODE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint

    from hansard.clients.protocol import Client, SessionWriter

GROUP = "hansard.clients"
_LONGEST = 1 << 16  # bytes of a package's entry points; larger buffers cost a system call each
__all__ = [
    "BUILT_IN",
    "CALLS_HAVE_MESSAGES",
    "CLAUDE_CODE",
    "EDITORS",
    "GROUP",
    "IMPORTED",
    "WRITABLE",
    "BuiltIn",
    "all_clients",
    "client_of",
    "likely_clients",
    "places_of",
    "usual_clients",
    "writer_of",
]


class BuiltIn(Struct, frozen=True):
    """A client that comes with Hansard; its module is imported only where one of its histories may be."""

    target: str  # module:class
    places: tuple[str, ...]
    """Where its histories usually are: below `~` or a `$VARIABLE`; one part may be `*`. It is asked for its roots only if one of
    these exists."""
    marks: tuple[str, ...]
    """What a root of it contains: paths, of which the last part may end with `*`, or one part may be `*`; after that the last one may
    begin with it. It is asked about a directory only if one exists."""

    def is_used(self, environ: Mapping[str, str], home: str) -> bool:
        """Whether one of the usual places exists."""
        return any(places_of(self.places, environ, home))

    def may_own(self, path: str) -> bool:
        """Whether a directory looks like a root of the client."""
        import os

        path = os.path.expanduser(path)
        for mark in self.marks:
            above, star, below = mark.partition("/*/")
            if star:
                if _is_in_one(os.path.join(path, above), below):
                    return True
                continue
            folder, name = os.path.split(os.path.join(path, mark))
            if not name.endswith("*"):
                if os.path.lexists(os.path.join(folder, name)):
                    return True
                continue
            try:
                if any(other.startswith(name[:-1]) for other in os.listdir(folder)):
                    return True
            except OSError:
                continue
        return False


EDITORS = (
    *(
        f"{place}/{app}/User"
        for place in ("~/.config", "$XDG_CONFIG_HOME", "~/Library/Application Support", "$APPDATA")
        for app in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Positron", "Trae")
    ),
    *("~/.vscode-server/data/User", "~/.vscode-server-insiders/data/User", "~/.vscodium-server/data/User"),
    *("~/.cursor-server/data/User", "~/.windsurf-server/data/User", "~/.local/share/code-server/User"),
)
"""Where editors that are built from VS Code keep what their extensions and windows store, on Linux, macOS and Windows."""
_TASKS = {
    "cline": "saoudrizwan.claude-dev",
    "roo": "rooveterinaryinc.roo-cline",
    "kilo": "kilocode.kilo-code",
}
_CLINE = tuple(
    f"{place}/{folder}"
    for place in ("$CLINE_DATA_DIR", "$CLINE_DIR/data", "~/.cline/data")
    for folder in ("tasks", "sessions")
)
"""Its own directory, which its command line has."""
BUILT_IN: dict[str, BuiltIn] = {
    "codex": BuiltIn(
        "hansard.clients.codex.client:Codex",
        ("$CODEX_HOME", "~/.codex"),
        ("sessions/rollout-*", "sessions/20*", "archived_sessions/rollout-*"),
    ),
    "crush": BuiltIn(
        "hansard.clients.crush:Crush",
        ("~/.local/share/crush", "$XDG_DATA_HOME/crush", "$LOCALAPPDATA/crush", "$CRUSH_GLOBAL_DATA"),
        ("crush.db",),
    ),
    "cursor": BuiltIn(
        "hansard.clients.cursor.client:Cursor",
        (
            "~/.config/Cursor/User",
            "$XDG_CONFIG_HOME/Cursor/User",
            "~/Library/Application Support/Cursor/User",
            "$APPDATA/Cursor/User",
            "~/.cursor/projects",
            "~/.cursor/chats",
        ),
        ("globalStorage/state.vscdb", "workspaceStorage", "state.vscdb", "argv.json", "extensions", "chats"),
    ),
    "goose": BuiltIn(
        "hansard.clients.goose:Goose",
        (
            "~/.local/share/goose/sessions",
            "$XDG_DATA_HOME/goose/sessions",
            "$GOOSE_PATH_ROOT/data/sessions",
            "$APPDATA/Block/goose/data/sessions",
        ),
        ("sessions.db", "20*"),
    ),
    "opencode": BuiltIn(
        "hansard.clients.opencode.client:OpenCode",
        ("~/.local/share/opencode", "$XDG_DATA_HOME/opencode"),
        ("opencode.db", "opencode-*", "storage/message", "storage/session"),
    ),
    "copilot-cli": BuiltIn(
        "hansard.clients.copilot_cli.client:CopilotCli",
        ("$COPILOT_HOME/session-state", "~/.copilot/session-state"),
        ("session-state",),
    ),
    **{
        name: BuiltIn(
            f"hansard.clients.cline.client:{name.capitalize()}",
            (
                *(f"{user}/globalStorage/{extension}/tasks" for user in EDITORS),
                *(_CLINE if name == "cline" else ()),
            ),
            (
                "tasks/*/ui_messages.json",
                "tasks/*/claude_messages.json",
                *(("sessions/*/*.messages.json",) if name == "cline" else ()),
            ),
        )
        for name, extension in _TASKS.items()
    },
    "copilot-chat": BuiltIn(
        "hansard.clients.copilot_chat.client:CopilotChat",
        tuple(
            f"{user}/{chats}"
            for user in EDITORS
            for chats in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
        ),
        ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions", "copilot-chat-conversations"),
    ),
    "gemini": BuiltIn(
        "hansard.clients.gemini.client:GeminiCli", ("$GEMINI_CLI_HOME/.gemini/tmp", "~/.gemini/tmp"), ("tmp/*/chats",)
    ),
    "qwen": BuiltIn(
        "hansard.clients.qwen:QwenCode",
        ("$QWEN_RUNTIME_DIR/projects", "$QWEN_HOME/projects", "~/.qwen/projects"),
        ("projects/*/chats", "tmp/*/chats"),
    ),
    "zed": BuiltIn(
        "hansard.clients.zed:Zed",
        (
            "~/.local/share/zed/threads",
            "$XDG_DATA_HOME/zed/threads",
            "~/Library/Application Support/Zed/threads",
            "$LOCALAPPDATA/Zed/threads",
        ),
        ("threads.db",),
    ),
}
"""By name; Claude Code, which everything else is measured by, is not among them."""
IMPORTED = {
    "atif": "hansard.clients.atif:Atif",
    "chatgpt": "hansard.clients.chatgpt:ChatGPT",
    "claude-ai": "hansard.clients.claude_ai:ClaudeAi",
    "amp": "hansard.clients.amp:Amp",
    "continue": "hansard.clients.continue_dev:Continue",
    "droid": "hansard.clients.droid:Droid",
    "aider": "hansard.clients.aider:Aider",
    "copilot-chat": BUILT_IN["copilot-chat"].target,
}
"""Clients whose conversations can be imported: of most of them a root is a folder that `hansard import` made."""
BUILT_IN |= {
    name: BuiltIn(target, (), (f"{name}-conversations",)) for name, target in IMPORTED.items() if name not in BUILT_IN
}


CALLS_HAVE_MESSAGES = frozenset({CLAUDE_CODE})
"""The built-in clients with the trait `calls_have_messages`, for SQL that is written before a client is known."""


WRITABLE = (CLAUDE_CODE, "codex")
"""The clients in which Hansard can write new sessions, for them to resume."""


def places_of(places: Iterable[str], environ: Mapping[str, str], home: str) -> Iterator[str]:
    """Those of some places that exist, up to a `*`; they are written as in `BuiltIn`."""
    import os

    for place in places:
        first, slash, rest = place.partition("/")
        base = home if first == "~" else environ.get(first[1:], "")
        above, star, below = (base + slash + rest).partition("/*/")
        if base and (_is_in_one(above, below) if star else os.path.isdir(above)):
            yield above


def _is_in_one(folder: str, name: str) -> bool:
    """Whether something of this name is in one of the folders in a folder; `*` stands for the beginning of any name."""
    import os

    places = (os.path.join(folder, other) for other in _names_in(folder))
    if name[0] == "*":
        return any(other.endswith(name[1:]) for place in places for other in _names_in(place))
    return any(os.path.lexists(os.path.join(place, name)) for place in places)


def _names_in(folder: str) -> list[str]:
    import os

    try:
        return os.listdir(folder)
    except OSError:
        return []


@cache
def client_of(name: str) -> Client:
    if name == CLAUDE_CODE:
        from hansard.clients.claude_code.client import ClaudeCode

        return ClaudeCode()
    if name in BUILT_IN:
        from importlib import import_module

        module, _, kind = BUILT_IN[name].target.partition(":")
        made: Client = getattr(import_module(module), kind)()
        return made
    for entry_point in _entry_points():
        if entry_point.name == name:
            return _load(entry_point)
    raise UsageError(f"unknown client {name}: install the package that reads its histories again")


def writer_of(client: str) -> SessionWriter | None:
    """What writes sessions of a client; None if nothing does."""
    if client not in WRITABLE:
        return None
    from importlib import import_module

    made: SessionWriter = import_module(f"hansard.clients.{client.replace('-', '_')}.writer").Writer()
    return made


def _load(entry_point: EntryPoint) -> Client:
    name = entry_point.name
    try:
        made: Client = entry_point.load()()
    except Exception as error:
        package = entry_point.dist.name if entry_point.dist is not None else "of another package"
        raise UsageError(
            f"client {name} cannot be loaded ({type(error).__name__}: {error}); update or uninstall the package {package}"
        ) from error
    if made.name != name:
        raise UsageError(f"the entry point {name} gives a client called {made.name}: the names must be the same")
    return made


def all_clients() -> list[Client]:
    """Every client there is: those of other packages first, which know their own histories best."""
    return [client_of(name) for name in _names(BUILT_IN)]


def usual_clients(environ: Mapping[str, str], home: str, without: Collection[str] = ()) -> list[Client]:
    """The clients that may have a history in its usual place, except some."""
    used = _names(name for name, known in BUILT_IN.items() if name not in without and known.is_used(environ, home))
    return [client_of(name) for name in used if name not in without]


def likely_clients(path: str) -> list[Client]:
    """The clients that may have written a directory."""
    return [client_of(name) for name in _names(name for name, known in BUILT_IN.items() if known.may_own(path))]


def _names(built_in: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys((*(point.name for point in _entry_points()), *built_in, CLAUDE_CODE))


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    # importlib.metadata costs more than most commands do otherwise, so it is left alone where there is nothing to find.
    if not any(_declared()):
        return ()
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda point: point.name))


def _declared() -> Iterator[bool]:
    """Whether installed packages declare clients, one by one."""
    import os
    import sys

    section = f"[{GROUP}]".encode()
    library = os.path.dirname(os.__file__)
    for folder in sys.path:
        if folder in (library, f"{library}/lib-dynload"):
            continue
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:  # `open()` would take twice as long
                    file = os.open(f"{folder or '.'}/{name}/entry_points.txt", os.O_RDONLY)
                except OSError:
                    continue
                try:
                    text = os.read(file, _LONGEST)
                finally:
                    os.close(file)
                yield section in text
