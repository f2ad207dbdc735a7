"""MCP over stdin and stdout, one message per line; what needs the store is answered in order on a thread."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from hansard.mcp.server import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, SUBSCRIPTION_KEY, Server, is_id

if TYPE_CHECKING:
    from hansard.mcp.store import Store

_ROOTS_ID = "hansard-roots"
_LONGEST = 8 << 20  # bytes of a message


class Connection:
    """One client on a pair of streams."""

    def __init__(self, server: Server, requests: BinaryIO, responses: BinaryIO) -> None:
        self._server = server
        self._requests = requests
        self._responses = responses
        self._writing = threading.Lock()
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._cancelled: set[str | int] = set()
        self._is_closed = False  # the client has closed our stdout

    def run(self, first: bytes = b"") -> None:
        """Answer until the client closes stdin, including what it asked before that; `first` has been read already."""
        worker = threading.Thread(target=self._work, name="answers", daemon=True)
        worker.start()
        for line in io.BytesIO(first):
            self._take(line if line.endswith(b"\n") else line + self._requests.readline(_LONGEST))
        while not self._is_closed and (line := self._requests.readline(_LONGEST + 1)):
            if len(line) > _LONGEST and not line.endswith(b"\n"):
                self._skip_line()
                self._refuse(INVALID_REQUEST, f"a message has at most {_LONGEST >> 20} MiB")
            elif line.strip():
                self._take(line)
        self._waiting.put(None)
        worker.join()

    def notify(self, method: str, subscription: str | int | None = None, **params: Any) -> None:
        """Send a notification; since 2026-07-28 it belongs to a subscription of the client."""
        if subscription is not None:
            params["_meta"] = {SUBSCRIPTION_KEY: subscription}
        self._send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def _skip_line(self) -> None:
        """Skip the rest of an overlong message."""
        while (piece := self._requests.readline(1 << 16)) and not piece.endswith(b"\n"):
            pass

    def _refuse(self, code: int, message: str) -> None:
        self._send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})

    def _take(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._refuse(PARSE_ERROR, "not JSON")
            return
        if isinstance(message, dict) and self._handle_notification(message):
            return
        if self._server.takes_time(message) and is_id(message.get("id")):
            self._waiting.put(message)
        else:
            self._send(self._server.handle(message))

    def _handle_notification(self, message: dict[str, Any]) -> bool:
        """Handle what needs no response: notifications, subscriptions, and the client's answer about its roots."""
        method = message.get("method")
        if method == "subscriptions/listen" and is_id(id_ := message.get("id")):
            # Nothing that is listed changes any more: it is acknowledged, and stays open.
            self.notify(
                "notifications/subscriptions/acknowledged", id_, notifications=_acknowledged(message.get("params"))
            )
            return True
        if method == "notifications/cancelled":
            params = message.get("params")
            id_ = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(id_, (str, int)):
                self._cancelled.add(id_)
        elif method in ("notifications/initialized", "notifications/roots/list_changed"):
            if self._server.wants_roots:
                self._send({"jsonrpc": "2.0", "id": _ROOTS_ID, "method": "roots/list"})
        elif message.get("id") == _ROOTS_ID and method is None:
            self._server.use_roots(message)
        else:
            return False
        return True

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            id_ = message.get("id")
            if id_ not in self._cancelled:
                try:
                    response = self._server.handle(message)
                    if id_ not in self._cancelled:
                        self._send(response)
                except Exception as error:  # noqa: BLE001 - the requests behind it are to be answered
                    failure = {"code": INTERNAL_ERROR, "message": f"internal error: {type(error).__name__}"}
                    self._send({"jsonrpc": "2.0", "id": id_, "error": failure})
            self._cancelled.discard(id_)

    def _send(self, message: dict[str, Any] | None) -> None:
        if message is None or self._is_closed:
            return
        line = msgspec.json.encode(message) + b"\n"
        with self._writing:
            try:
                self._responses.write(line)
                self._responses.flush()
            except (OSError, ValueError):
                self._is_closed = True


def _acknowledged(params: Any) -> dict[str, bool]:
    """What of a subscription there are notifications for."""
    wanted = params.get("notifications") if isinstance(params, dict) else None
    return {"resourcesListChanged": True} if isinstance(wanted, dict) and wanted.get("resourcesListChanged") else {}


def serve(
    server: Server,
    store: Store,
    first: bytes = b"",
    *,
    has_resources: bool = False,
    subscription: str | int | None = None,
) -> None:
    """Serve the client that started this process, until it closes our stdin.

    `first` has been read of that already. With `has_resources` the client is to ask for the list of resources again.
    """
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing but messages may reach the client
    try:
        with contextlib.suppress(KeyboardInterrupt):
            connection = Connection(server, sys.stdin.buffer, responses)
            if has_resources:
                connection.notify("notifications/resources/list_changed", subscription)
            connection.run(first)
    finally:
        with contextlib.suppress(OSError, ValueError):
            responses.close()
        if store.is_syncing:  # it may take minutes, and can be interrupted at any time
            sys.stderr.flush()
            os._exit(0)
