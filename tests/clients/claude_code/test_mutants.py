"""Real lines, damaged in 45,000 seeded ways (`--soak 5`: five times as many): no exception, no lost neighbour, no forgotten byte."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.decode import decode, items
from hansard.clients.claude_code.texts import texts
from hansard.clients.lines import Issue, Lines, ParsedLine
from hansard.clients.state import dump, load
from hansard.demo import write_history
from tests.clients.claude_code.making import assert_storable, folding, uncovered
from tests.clients.claude_code.mutating import BYTEWISE, change_values, double_key, pick

if TYPE_CHECKING:
    from pathlib import Path

SHARDS = 3
MUTANTS = 15_000  # in each shard
LONGEST = 12_000
PER_KIND = 400


@pytest.fixture(scope="module")
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Intact lines of every kind, some of each: real ones where they are at hand, else the demo history's."""
    try:
        folder: Path = request.getfixturevalue("corpus")
    except pytest.skip.Exception:
        folder = tmp_path_factory.mktemp("demo")
        write_history(folder)
    by_kind: dict[str, list[bytes]] = {}
    for path in sorted(folder.rglob("projects/**/*.jsonl")):
        if path.is_relative_to(folder / "agents"):  # other agents' lines
            continue
        for line in path.read_bytes().split(b"\n")[:200]:
            record = decode(line, 0) if 2 < len(line) < LONGEST else None
            if record is not None and line.endswith(b"}"):
                by_kind.setdefault(record.kind, []).append(line)
    dice = random.Random(5)
    chosen = [
        line for kind in sorted(by_kind) for line in dice.sample(by_kind[kind], min(PER_KIND, len(by_kind[kind])))
    ]
    assert len(chosen) > 300
    dice.shuffle(chosen)
    return chosen


@pytest.mark.parametrize("shard", range(SHARDS))
def test_damage_stays_in_its_line(lines: list[bytes], shard: int, soak: int) -> None:
    dice = random.Random(shard)
    folded = folding()
    for number in range(MUTANTS * soak):
        line = pick(dice, lines)
        way = number % (len(BYTEWISE) + 4)
        untouched = ""
        if way < len(BYTEWISE):
            damaged = BYTEWISE[way](dice, line, pick(dice, lines))
        elif way == len(BYTEWISE):
            damaged = double_key(dice, line)
        else:
            damaged, touched = change_values(dice, line)
            untouched = "uuid" if not {"uuid", "type", "*"} & set(touched.split()) else ""
        before, after = pick(dice, lines), pick(dice, lines)
        data = b"\n".join((before, damaged, after, b""))
        found = [item for start, own in Lines([data], 0) for item in items(own, start)]
        start = len(before) + 1
        assert found[0] == decode(before, 0)
        assert found[-1] == decode(after, start + len(damaged) + 1)
        own = found[1:-1]
        assert uncovered(damaged, own, start) == b"", damaged
        if untouched:
            _keeps_its_name(line, own)
        for item in own:
            folded.feed(item)
            if isinstance(item, ParsedLine):
                for _, _, shown, *_ in texts(item, sidechain=False):
                    shown.encode()
        if number % 500 == 499:
            assert_storable(folded)
            folded = folding(load(dump(folded.state)) if number % 5000 != 4999 else None)


def _keeps_its_name(line: bytes, own: list[ParsedLine | Issue]) -> None:
    """Values that went wrong elsewhere in a record leave its kind and its uuid as they were."""
    original = decode(line, 0)
    (record,) = (item for item in own if isinstance(item, ParsedLine))
    assert original is not None
    assert record.kind == original.kind
    if record.kind in wire.ENTRY_KINDS:
        assert record.body.uuid == original.body.uuid
