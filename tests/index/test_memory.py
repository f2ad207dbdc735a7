"""The memory of a sync that finds a hostile line: at most 300 MB and three times the longest line that is parsed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.sync.making import Tree

from tests.sync.making import main_path, raw, session, user

A = session(1)
SIZE = 12_000_000
BOUND = 300_000_000 + 3 * SIZE
SYNC = """
import json, os, resource, sys
import hansard
with hansard.open(sys.argv[1], [sys.argv[2]]) as h:
    h.sync()
    kinds = {kind.reason: kind.count for kind in h.issues()}
if os.path.exists("/proc/self/status"):  # on Linux getrusage also knows the peak of the process that started this one
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([peak, kinds]))
"""

HEAD = b'{"type":"user","uuid":"long","sessionId":"s","message":{"role":"user","content":'
CALL = (
    b'{"type":"assistant","uuid":"long","sessionId":"s","message":{"id":"m","model":"m","content":[{"type":"tool_use",'
    b'"id":"t","name":"Edit","input":{"file_path":"/a","old_string":"'
)


def prompt(unit: bytes, before: bytes = b"") -> bytes:
    return HEAD + b'"' + before + unit * (SIZE // len(unit)) + b'"}}\n'


def lines(one: bytes, count: int) -> Iterable[bytes]:
    return (one % number for number in range(count))


HOSTILE: dict[str, tuple[Callable[[], bytes | Iterable[bytes]], dict[str, int]]] = {
    "NULs": (lambda: bytes(SIZE) + b"\n", {"nul_bytes": 1}),
    "NULs at the end": (lambda: bytes(SIZE), {"unfinished": 1}),
    "blanks": (lambda: b" " * SIZE + b"\n", {}),
    "newlines": (lambda: b"\n" * SIZE, {}),
    "blocks": (lambda: HEAD + b"[" + b"{}," * (SIZE // 3) + b"{}]}}\n", {"too_many_values": 1}),
    "blocks on many lines": (lambda: (HEAD + b"[" + b"{}," * 90_000 + b"{}]}}\n",) * 30, {}),
    "short strings": (lambda: HEAD + b"[" + b'"ab",' * (SIZE // 5) + b'""]}}\n', {"too_many_values": 1}),
    "words in capitals": (lambda: prompt(b"aAbBcC"), {"long_text": 1}),
    "one emoji": (lambda: prompt(b"hello and more ", "😀".encode()), {"long_text": 1}),
    "Chinese": (lambda: prompt("語文".encode()), {"long_text": 1}),
    "escapes": (lambda: prompt(b"\\n\\t"), {"long_text": 1}),
    "control characters": (lambda: prompt(b"\x1bcab"), {"long_text": 1}),
    "short lines in an edit": (  # as long as nothing is cut
        lambda: CALL + b"ab\\n" * 1_000_000 + b'","new_string":"' + b"ac\\n" * 1_000_000 + b'"}}]}}\n',
        {},
    ),
    "deep nesting": (lambda: b'{"a":[' * (SIZE // 6) + b"\n", {"too_deep": 1}),
    "torn": (lambda: HEAD + b'"' + b"hello and more " * (SIZE // 15) + b"\n", {"not_json": 1}),
    "torn between blocks": (
        lambda: HEAD + b"[" + b'{"type":"text","text":"ab"},' * (SIZE // 28) + b"\n",
        {"too_many_values": 1},
    ),
    "glued": (lambda: b'{"type":"mode","sessionId":"s"}' * (SIZE // 31) + b"\n", {"torn": 1}),
    "long names": (lambda: lines(HEAD[:-1] + b':"x"},"gitBranch":"%d' + b"b" * 400_000 + b'"}\n', 30), {}),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="getrusage")
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_line_takes_bounded_memory_and_no_neighbour(tree: Tree, name: str) -> None:
    make, reasons = HOSTILE[name]
    path = tree.write(main_path(A), [user(A, "before", "a good line")])
    with path.open("ab") as log:
        made = make()
        log.writelines([made] if isinstance(made, bytes) else made)
        if "unfinished" not in reasons:
            log.write(raw([user(A, "after", "another good line", 1)]))
    peak, found = measured(tree.home, tree.config)
    assert found == reasons
    good = {"before", "after"} if "unfinished" not in reasons else {"before"}
    assert good <= {uuid for (uuid,) in tree.rows("SELECT uuid FROM records")}
    assert peak < BOUND


def measured(home: Path, root: Path) -> Any:
    ran = subprocess.run(
        [sys.executable, "-c", SYNC, str(home), str(root)], check=True, capture_output=True, text=True, timeout=600
    )
    return json.loads(ran.stdout)
