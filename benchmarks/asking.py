"""A browser's part in measuring a server: going through its link, waiting for first bytes, fifty readers at once."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit


def enter(link: str) -> dict[str, object]:
    """Go through the link that the server printed; tell where it is and the cookie that it gave."""
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    cookie = answer.getheader("set-cookie", "").partition(";")[0]
    return {"host": parts.hostname, "port": parts.port, "cookie": cookie}


def first_bytes(host: str, port: str, cookie: str, path: str, times: str) -> dict[str, object]:
    """Seconds from sending a request to the first byte of its body, and to the last; one connection, as a browser's.

    Between two of them a page is no longer held for others who ask for it, so each is drawn.
    """
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    took, whole, status = [], [], 0
    for _ in range(int(times)):
        time.sleep(1.05)
        before = time.perf_counter()
        connection.request("GET", path, headers={"cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        answer.read(1)
        took.append(time.perf_counter() - before)
        answer.read()
        whole.append(time.perf_counter() - before)
        status = answer.status
        if status != 200:
            break
    return {"seconds": took, "whole": whole, "status": status}


def readers(host: str, port: str, cookie: str, number: str, seconds: str, *paths: str) -> dict[str, object]:
    """So many readers that each open one page after the other, in their own order, for so many seconds."""
    end = time.monotonic() + int(seconds)
    took: list[float] = []
    wrong: list[str] = []

    def read(seed: int) -> None:
        order = random.Random(seed)
        connection = http.client.HTTPConnection(host, int(port), timeout=120)
        while time.monotonic() < end:
            path = order.choice(paths)
            before = time.perf_counter()
            try:
                connection.request("GET", path, headers={"cookie": cookie})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException) as error:
                wrong.append(f"{path}: {error!r}")
                connection.close()
                continue
            took.append(time.perf_counter() - before)
            if answer.status != 200:
                wrong.append(f"{path}: {answer.status}")

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(int(number))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"seconds": took or [0.0], "answers": len(took), "errors": len(wrong), "examples": wrong[:5]}


CASES: dict[str, Callable[..., object]] = {"enter": enter, "first-bytes": first_bytes, "readers": readers}
