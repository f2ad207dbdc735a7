"""JSON validates against the published schema, and lines hold every item once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hansard.engine import Hansard
from hansard.export import Exported
from hansard.model.display import DisplayThread, Item
from hansard.model.schema import display_schema
from hansard.model.serialize import plain

jsonschema: Any = pytest.importorskip("jsonschema")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_the_schema_is_a_schema_and_refuses_what_is_none() -> None:
    for strict in (False, True):
        jsonschema.Draft202012Validator.check_schema(display_schema(strict=strict))
    validator = jsonschema.Draft202012Validator(display_schema())
    assert not validator.is_valid({})
    assert not validator.is_valid({"session": {}, "thread": None, "others": []})


def test_every_document_validates_against_the_published_schema(exported: Callable[[str], Exported]) -> None:
    published = jsonschema.Draft202012Validator(json.loads((DOCS / "display.schema.json").read_text(encoding="utf-8")))
    strict = jsonschema.Draft202012Validator(display_schema(strict=True))
    done = exported("json")
    assert not done.failed
    # The hard session has every kind of everything; validating is slow, so of the others the small ones do.
    files = sorted((file for file in done.files), key=lambda file: file.bytes)
    for file in [*files[:25], *(file for file in files[-3:])]:
        document = json.loads(Path(file.path).read_bytes())
        for validator in (published, strict):
            error = next(validator.iter_errors(document), None)
            assert error is None, f"{file.path}: {error.message[:300]} at {list(error.absolute_path)}"


def items_of(thread: DisplayThread) -> list[Item]:
    found = []
    for turn in thread.turns:
        for item in turn.items:
            found.append(item)
            if item.thread is not None:
                found += items_of(item.thread)
    return found


def test_lines_hold_every_item_of_the_tree_once(demo: Hansard, tmp_path: Path) -> None:
    sessions = demo.sessions(limit=None).sessions
    demo.export(sessions, tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    place = iter([line for line in lines if line["kind"] not in ("session", "not_shown")])
    for session in sessions:
        display = demo.read(session).display()
        for thread in (display.thread, *display.others):
            for item in items_of(thread):
                line = next(place)
                assert (line["session_id"], line["anchor"], line["kind"]) == (
                    session.session_id,
                    item.anchor,
                    item.kind,
                )
                assert len(line["parts"]) == len(item.parts)
                assert (line["session"], line["not_shown"]) == (None, None)
    assert next(place, None) is None
    assert len({(line["session_id"], line["agent_id"], line["anchor"]) for line in lines}) == len(lines)
    assert len({tuple(line) for line in lines}) == 1  # every line has the same fields
    made = {line["made_agent_id"] for line in lines} - {None}
    assert made
    assert made <= {line["agent_id"] for line in lines}


def test_lines_begin_with_the_session_and_count_what_is_not_shown(demo: Hansard, tmp_path: Path) -> None:
    sessions = demo.sessions(limit=None).sessions
    demo.export(sessions, tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    about = [line for line in lines if line["kind"] == "session"]
    assert [line["session"] for line in about] == [plain(session) for session in sessions]
    for first, after in itertools.pairwise([None, *lines]):
        assert after is not None
        assert (after["kind"] == "session") is (first is None or first["session_id"] != after["session_id"])
    told = [(line["session_id"], line["agent_id"], line["not_shown"]) for line in lines if line["kind"] == "not_shown"]
    wanted = []
    for session in sessions:
        display = demo.read(session).display()
        for thread in threads_of(display.thread, *display.others):
            if thread.not_shown:
                agent_id = thread.agent.agent_id if thread.agent is not None else None
                wanted.append((session.session_id, agent_id, thread.not_shown))
    assert sorted(map(str, told)) == sorted(map(str, wanted))
    types = [{name: type(value) for name, value in line.items() if value is not None} for line in lines]
    assert all(types[0].get(name, kind) is kind for line in types for name, kind in line.items())


def threads_of(*threads: DisplayThread) -> Iterator[DisplayThread]:
    for thread in threads:
        yield thread
        for turn in thread.turns:
            for item in turn.items:
                if item.thread is not None:
                    yield from threads_of(item.thread)
