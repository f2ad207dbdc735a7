"""One long session for measuring how it is read: prompts, replies with code in them, calls of several tools with results and diffs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any

from benchmarks.load.wording import Wording
from tests.demo_history.files import encode_cwd

_CWD = "/home/mira/src/tidewater"
_CALLS = 10  # between two prompts, in the mean
_START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def write_long_session(config_dir: str, records: str, seed: str) -> dict[str, Any]:
    """Write a session of so many records into a config dir of its own."""
    number = int(records)
    session = f"{number:08x}-0000-4000-a000-{int(seed):012x}"
    path = Path(config_dir) / "projects" / encode_cwd(_CWD) / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for line in islice(_Session(random.Random(int(seed)), session).records(), number):
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return {"session": session, "records": number, "bytes": path.stat().st_size}


class _Session:
    """Gives records without end, each the parent of the next."""

    def __init__(self, rng: random.Random, session: str) -> None:
        self.rng, self.session = rng, session
        wording = Wording(rng)
        self.prose, self.code = wording.prose(), _unescaped(wording.code())
        self.logs, self.listings = _unescaped(wording.logs()), _unescaped(wording.listings())
        self.paths = wording.tables["p"]
        self.numbers = count(1)
        self.parent: str | None = None
        self.at = _START

    def records(self) -> Iterator[dict[str, Any]]:
        """A prompt, what was done for it, a reply, and so on."""
        while True:
            yield self._record("user", {"role": "user", "content": self._some(self.prose, 3)})
            for _ in range(1 + int(self.rng.expovariate(1 / _CALLS))):
                if self.rng.random() < 0.25:
                    yield self._answer({"type": "thinking", "thinking": self._some(self.prose, 5), "signature": "Eq"})
                yield from self._call()
            code = f"```python\n{self._some(self.code, 12)}\n```"
            yield self._answer({"type": "text", "text": f"{self._some(self.prose, 5)}\n\n{code}\n\n{next(self.prose)}"})

    def _call(self) -> Iterator[dict[str, Any]]:
        rng = self.rng
        name = rng.choice(("Bash", "Bash", "Bash", "Read", "Read", "Grep", "Edit", "Edit", "Write"))
        path = f"{_CWD}/{rng.choice(self.paths)}"
        told: dict[str, Any] = {}
        if name == "Bash":
            given = {"command": f"pytest -q {rng.choice(self.paths)}", "description": "Run the tests"}
            output = self._some(self.logs, 16)
            told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        elif name == "Read":
            given = {"file_path": path}
            output = "\n".join(
                f"{number:6}\t{line}" for number, line in enumerate(islice(self.code, rng.randrange(10, 90)), 1)
            )
        elif name == "Grep":
            given, output = {"pattern": "cursor", "path": _CWD}, self._some(self.listings, 12)
        else:
            given, told = self._change(name, path)
            output = f"The file {path} has been updated."
        use = f"toolu_01{next(self.numbers):022d}"
        yield self._answer({"type": "tool_use", "id": use, "name": name, "input": given})
        result = {"type": "tool_result", "tool_use_id": use, "content": output}
        yield self._record("user", {"role": "user", "content": [result]}, **({"toolUseResult": told} if told else {}))

    def _change(self, name: str, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
        new = self._some(self.code, 8)
        if name == "Write":
            return {"file_path": path, "content": new}, {"type": "create", "filePath": path, "structuredPatch": []}
        old = self._some(self.code, 5)
        lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
        numbers = {"oldStart": 9, "oldLines": old.count("\n") + 1, "newStart": 9, "newLines": new.count("\n") + 1}
        told = {"filePath": path, "structuredPatch": [{**numbers, "lines": lines}]}
        return {"file_path": path, "old_string": old, "new_string": new}, told

    def _answer(self, block: dict[str, Any]) -> dict[str, Any]:
        message = {
            "id": f"msg_01{next(self.numbers):022d}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": [block],
            "usage": {"input_tokens": 7, "output_tokens": 200, "cache_read_input_tokens": 40_000},
        }
        return self._record("assistant", message)

    def _record(self, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        uuid = f"{next(self.numbers):08x}-0000-4000-b000-000000000000"
        self.at += timedelta(seconds=self.rng.randrange(1, 20))
        record = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "sessionId": self.session,
            "timestamp": self.at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "cwd": _CWD,
            "gitBranch": "main",
            "version": "2.1.112",
            "message": message,
            **more,
        }
        self.parent = uuid
        return record

    def _some(self, lines: Iterator[str], mean: int) -> str:
        return "\n".join(islice(lines, 1 + int(self.rng.expovariate(1 / mean))))


def _unescaped(lines: Iterator[str]) -> Iterator[str]:
    """Quotes as they are; the wording has them as JSON wants them."""
    return (line.replace('\\"', '"') for line in lines)
