"""How `mcp` starts: it answers a client's handshake and lists from a file, before anything of the server is imported.

A client waits for its servers at its start, and most sessions never ask them anything.
"""

from __future__ import annotations

import os
import sys

from hansard.cli.fast_start import decode

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

ANSWERS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "mcp", "answers.txt")
"""The results of requests that need no store, one a line: method, tab, JSON. `tools/make_docs.py` writes it.

The others: `versions` with a handshake, the `stateless` one without, and what its results begin with (`every result`, `no list yet`).
"""
_META = "io.modelcontextprotocol/"
_LISTS = ("tools/list", "resources/templates/list", "prompts/list")
_LONGEST = 1 << 16  # bytes of a message that is answered here
_QUIET_SECONDS = 3.0  # after the handshake, until the sessions are listed as resources
_ROOTS = b'{"jsonrpc":"2.0","id":"hansard-roots","method":"roots/list"}\n'
_OPTIONS = ("--home", "--root")


class Handshake:
    """What a client has said before the server was needed."""

    def __init__(self) -> None:
        self.client = ""
        self.wants_roots = False
        self.roots: dict[str, Any] | None = None  # its answer about them
        self.has_empty_list = False  # of resources, which the server replaces
        self.subscription: str | int | None = None  # to changes of that list, without a handshake
        self.read = b""  # of stdin, and not answered: first the message that needs the server


done: Handshake | None = None
"""The handshake of this process, for the server that goes on with it."""


def is_fast(arguments: list[str]) -> bool:
    """Whether these are arguments of `hansard mcp` on stdio that need no check."""
    if arguments[:1] != ["mcp"] or len(arguments) % 2 == 0:
        return False
    return all(name in _OPTIONS for name in arguments[1::2])


def answer_handshake() -> bool:
    """Answer what needs no server; False if the client has gone."""
    global done  # noqa: PLW0603 - one client starts one process
    with open(ANSWERS, "rb") as file:
        answers = dict(line.rstrip(b"\n").split(b"\t", 1) for line in file)
    import _signal as signal  # type: ignore[import-not-found] # `signal` itself imports `enum`

    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # how clients end a server; a KeyboardInterrupt takes longer
    said = Handshake()
    read = b""
    while True:
        line, end, rest = read.partition(b"\n")
        if not end and len(read) < _LONGEST:
            if not _has_input(_QUIET_SECONDS if said.has_empty_list else None):
                break
            piece = os.read(0, _LONGEST)
            if not piece:
                return False
            read += piece
            continue
        answer = _answer(line, said, answers) if end else None
        if answer is None:
            break
        read = rest
        while answer:
            answer = answer[os.write(1, answer) :]
    signal.signal(signal.SIGINT, before)
    said.read = read
    done = said
    return True


def _has_input(seconds: float | None) -> bool:
    """Wait for something to read, at most so long."""
    if seconds is None or sys.platform == "win32":
        return True
    from select import select

    return bool(select([0], [], [], seconds)[0])


def _answer(line: bytes, said: Handshake, answers: dict[bytes, bytes]) -> bytes | None:
    """The answer to a message, empty if it needs none; None for one that the server must answer."""
    if not line or line.isspace():
        return b""
    try:
        message = decode(line)
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    method, id_, params = message.get("method"), message.get("id"), message.get("params") or {}
    if not isinstance(params, dict):
        return None
    if "_meta" in params:
        return _answer_stateless(method, id_, params, said, answers)
    if method is None and id_ == "hansard-roots":
        said.roots = message
        return b""
    if method in ("notifications/initialized", "notifications/roots/list_changed"):
        return _ROOTS if said.wants_roots else b""
    if not isinstance(method, str) or type(id_) is not int:
        return None
    result = answers[method.encode()] if method in (*_LISTS, "ping") else None
    if method == "initialize":
        result = _initialize(params, said, answers)
    elif method == "prompts/list":
        result = answers.get(f"{method} {said.client}".encode(), result)
    elif method == "resources/list" and sys.platform != "win32" and not said.has_empty_list:
        # Clients ask for them at every start. They need the store: these come later, with a notification.
        said.has_empty_list = True
        result = b'{"resources":[]}'
    if result is None:
        return None
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (id_, result)


def _answer_stateless(
    method: object, id_: object, params: dict[str, Any], said: Handshake, answers: dict[bytes, bytes]
) -> bytes | None:
    """The same for a message that carries its version and its client, as since 2026-07-28."""
    meta = params["_meta"]
    if not isinstance(method, str) or not isinstance(meta, dict):
        return None
    if meta.get(f"{_META}protocolVersion") != answers[b"stateless"].decode():
        return None
    if type(id_) is int:
        number = b"%d" % id_
    elif isinstance(id_, str) and id_.isascii() and id_.isprintable() and not set(id_) & set('"\\'):
        number = b'"%b"' % id_.encode()
    else:
        return None
    client = meta.get(f"{_META}clientInfo")
    said.client = str(client.get("name")) if isinstance(client, dict) else ""
    before = answers[b"every result"]
    result = answers[method.encode()] if method in (*_LISTS, "server/discover") else None
    if method == "prompts/list":
        result = answers.get(f"{method} {said.client}".encode(), result)
    elif method == "subscriptions/listen" and sys.platform != "win32" and said.subscription is None:
        wanted = params.get("notifications")
        if not isinstance(wanted, dict) or wanted != {"resourcesListChanged": True}:
            return None
        said.subscription = id_
        return (
            b'{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"%bsubscriptionId":%b},'
            b'"notifications":{"resourcesListChanged":true}}}\n' % (_META.encode(), number)
        )
    elif method == "resources/list" and said.subscription is not None and not said.has_empty_list:
        said.has_empty_list = True
        before, result = answers[b"no list yet"], b'{"resources":[]}'
    if result is None:
        return None
    return b'{"jsonrpc":"2.0","id":%b,"result":%b,%b}\n' % (number, before[:-1], result[1:])


def _initialize(params: dict[str, Any], said: Handshake, answers: dict[bytes, bytes]) -> bytes:
    wanted, capabilities, client = (params.get(name) for name in ("protocolVersion", "capabilities", "clientInfo"))
    versions = answers[b"versions"].decode().split()
    said.wants_roots = isinstance(capabilities, dict) and "roots" in capabilities
    said.client = str(client.get("name")) if isinstance(client, dict) else ""
    version = wanted if wanted in versions else versions[-1]
    return b'{"protocolVersion":"%b",%b' % (version.encode(), answers[b"initialize"][1:])
