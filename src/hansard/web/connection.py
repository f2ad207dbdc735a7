"""One client's connection: whoever sends no request in time, or nonsense, does not stay."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from hansard.model.serialize import encoded
from hansard.web.guard import with_headers

HEAD_SECONDS = 15.0  # for the head of a request, from the first byte or the last answer on
_NONSENSE = {"error": {"status": 400, "code": "bad_request", "message": "this is no HTTP request"}}


class Connection(H11Protocol):
    """uvicorn's, where a keep-alive ends with the first byte: without an end of its own a client could drip for ever."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._patience is not None:
            self._patience.cancel()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are not ours
        """Refuse what is no request, as everything else is refused."""
        content = encoded(_NONSENSE)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        try:
            for event in (
                h11.Response(status_code=400, headers=with_headers([*headers, (b"connection", b"close")])),
                h11.Data(data=content),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:
            pass  # in the middle of an answer to something else
        self.transport.close()

    def _wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        cycle: Any = self.cycle
        if (cycle is None or cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
