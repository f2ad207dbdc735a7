"""How the tests of the demo look at what it wrote."""

import hashlib
import json
from pathlib import Path
from typing import Any


def digest(root: Path) -> dict[str, tuple[str, int]]:
    """Give hash and time of every file."""
    return {
        path.relative_to(root).as_posix(): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def transcripts(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Read every line of every log; a line that is no JSON object fails here."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(root.rglob("*.jsonl")):
        data = path.read_bytes()
        assert not data or data.endswith(b"\n")
        records = [json.loads(line) for line in data.split(b"\n")[:-1]]
        assert all(isinstance(record, dict) for record in records)
        found[path.relative_to(root).as_posix()] = records
    return found


def kind(record: dict[str, Any]) -> str:
    for outer, inner in (("attachment", "attachment"), ("progress", "data")):
        if record.get("type") == outer:
            return f"{outer}/{record[inner]['type']}"
    if record.get("type") == "system":
        return f"system/{record['subtype']}"
    return str(record.get("type"))
