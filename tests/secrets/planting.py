"""A history that holds planted secrets in every place a transcript can hold text, and beside it in files, names and pastes."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from tests.guard.planted_secrets import Planted, plant
from tests.hard_session import write_hard_session
from tests.mcp.writing import Log

PLANTED = [*plant(29), *list(plant(31))[::4]]
SPLIT, ENCODED, BARE, PARTED = (
    str(UUID(int=number << 96 | 7)) for number in (0xCCCC0001, 0xCCCC0002, 0xCCCC0003, 0xCCCC0004)
)
_WORD = re.compile(rb"harbour|gauge")  # in prompts, replies, thoughts, inputs, results, paths and titles of the session
_EACH_FIELD, _EACH_FILE = 16, 60  # secrets in one field of a kind of line, and in a file
_LONGEST = 400  # characters of a secret that is planted more than once


def core(planted: Planted) -> str:
    """What must not be shown: the secret, of a key its first line."""
    return planted.value.split("\n")[1] if planted.value.startswith("-----") else planted.value


def write_planted_history(root: Path) -> str:
    """Write the history; returns the id of its largest session."""
    session = write_hard_session(root)
    planter = _Planter()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".jsonl":
            planter.seen.clear()
            path.write_bytes(b"\n".join(map(planter.line, content.split(b"\n"))))
        elif path.suffix != ".json":
            path.write_bytes(_WORD.sub(planter.word, content, count=_EACH_FILE))
    assert planter.is_done
    _write_split(root)
    _write_parted(root)
    _write_encoded(root)
    _write_beside(root)
    return session


class _Planter:
    """Puts secrets into every field of every kind of line, a few of each."""

    def __init__(self) -> None:
        self._first = iter(PLANTED)
        self._more = cycle([planted for planted in PLANTED if len(planted.line) < _LONGEST])
        self.seen: Counter[tuple[object, ...]] = Counter()

    @property
    def is_done(self) -> bool:
        """Whether every secret was planted."""
        return next(self._first, None) is None

    def word(self, _: object) -> bytes:
        return f" {(next(self._first, None) or next(self._more)).line} ".encode()

    def line(self, line: bytes) -> bytes:
        try:
            value = json.loads(line)
        except ValueError:
            return line
        return json.dumps(self._value(value, (value.get("type"),))).encode()

    def _value(self, value: Any, place: tuple[object, ...]) -> Any:
        if isinstance(value, dict):
            return {key: self._value(item, (*place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, place) for item in value]
        if not isinstance(value, str) or not _WORD.search(value.encode("utf-8", "surrogatepass")):
            return value
        self.seen[place] += 1
        if self.seen[place] > _EACH_FIELD:
            return value
        return re.sub("harbour|gauge", lambda found: self.word(found).decode(), value, count=5)


def _of(kind: str) -> Planted:
    return next(planted for planted in PLANTED if planted.kind == kind)


def _write_split(root: Path) -> None:
    """Secrets that are split over the blocks of a message, and over messages."""
    log = Log(SPLIT, day=3)
    log.prompt("Which keys are there?")
    for kind in ("github-pat", "anthropic", "stripe"):
        value = _of(kind).value
        log.answer({"type": "text", "text": f"It is {value[:17]}"}, {"type": "text", "text": f"{value[17:]} as ever."})
    value = _of("gitlab-pat").value
    log.reply(f"First {value[:9]}")
    log.reply(f"{value[9:]} last")
    log.write(root)


def _write_parted(root: Path) -> None:
    """Secrets that are split over texts of every kind, with line breaks where these meet, and secrets that a program coloured."""
    log = Log(PARTED, day=6)
    log.prompt("Which keys are there?")

    def parts(kind: str, *places: int) -> list[str]:
        value = _of(kind).value
        return [value[start:end] for start, end in pairwise((0, *places, len(value)))]

    def texts(*parts: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": part} for part in parts]

    one, two, three = parts("github-oauth", 8, 24)
    log.answer(*texts(f"It is {one}", two, f"{three} as ever."))
    one, two, three = parts("linear", 16, 30)
    log.answer(*texts(f"Here:\n{one}\n", f"\n{two}\n\n", f"  {three}\nand more."))
    one, two = parts("npm", 20)
    result = {"type": "tool_result", "tool_use_id": "toolu_none", "content": texts(f"token {one}", f"{two} end")}
    log.add("user", message={"role": "user", "content": [result]})
    one, two = parts("openai", 40)
    log.answer({"type": "thinking", "thinking": f"The key is {one}", "signature": "x"}, *texts(f"{two} is what I use."))
    one, two = parts("groq", 28)
    call = {"type": "tool_use", "id": "toolu_parted", "name": "Bash", "input": {"command": f"{two} --login"}}
    log.answer(*texts(f"Logging in with {one}"), call)
    one, two = parts("huggingface", 18)
    log.reply(f"The last one begins with {one}\n\n")
    log.prompt(f"\n{two}\nyou mean?")
    lines = _of("rsa-key").value.split("\n")
    log.answer(*texts("Saved:\n" + "\n".join(lines[:9]) + "\n", "\n".join(lines[9:]) + "\nDone."))
    for kind in ("github-refresh", "gitlab-pat"):
        value = _of(kind).value
        red, plain = "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
        log.call("Bash", {"command": "grep -r --color=always token ."}, f".env:{red}{value[:6]}{plain}{value[6:]}\n")
        log.reply(f"It printed `{value[:14]}{red}{value[14:20]}{plain}{value[20:]}`.")
    log.write(root)


def _write_encoded(root: Path) -> None:
    log = Log(ENCODED, day=4)
    for planted in PLANTED[::9]:
        line = planted.line
        log.prompt(f"decode {base64.b64encode(line.encode()).decode()}")
        log.reply(f"https://x.example/?q={quote(line, safe='')}")
        log.call("Bash", {"command": f"echo {json.dumps(line)}"}, json.dumps({"stdout": json.dumps(line)}))
    log.write(root)


def _write_beside(root: Path) -> None:
    """Passwords without the words that reveal them, names, prompts of the history file, todos."""
    log = Log(BARE, day=5, cwd=f"/home/mira/src/{_of('npm').value}", branch=f"fix/{_of('groq').value}")
    password = _of("password").value
    log.prompt(f"What is {password} for?")
    log.edit(f"/home/mira/src/{_of('npm').value}/{_of('shopify').value}.py", "a = 1", f"b = {_of('datadog').value!r}")
    log.lines.append({"type": "summary", "summary": f"About {_of('linear').value}", "leafUuid": log.lines[-1]["uuid"]})
    log.write(root)
    display = {
        "display": f"use {_of('notion').line}",
        "pastedContents": {},
        "timestamp": 1_770_000_000_000,
        "project": "/src",
    }
    with (root / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(display) + "\n")
    plan = root / "plans" / "use-the-key.md"
    plan.write_text(f"# Plan\nUse {_of('figma').line}\n", encoding="utf-8")
