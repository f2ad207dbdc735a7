"""An invented history in which the author of every line is known: sessions, a person, formatters, and everything git does to commits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from tests.demo_history.session_writer import SessionWriter
from tests.git.making import Workshop

PERSON, MIXED = "person", "mixed"
_NOUNS = "tide gauge buoy harbour mooring sounding chart ledger channel beacon anchor pilot berth draught swell keel rudder hull cargo".split()
_VERBS = "read parse merge check sort load store count find drop split join trim scale shift".split()
_COMMON = [
    "return None",
    "return result",
    "continue",
    "pass",
    "raise ValueError(name)",
    "result = []",
    "count += 1",
    "break",
]


@dataclass
class History:
    """A workshop whose files have an author for each line."""

    shop: Workshop
    dice: random.Random
    authors: dict[str, list[str]] = field(default_factory=dict)

    # -- code that people and sessions write alike

    def name(self) -> str:
        return f"{self.dice.choice(_VERBS)}_{self.dice.choice(_NOUNS)}"

    def function(self, indent: str = "    ") -> list[str]:
        """A function of some lines, with lines in it that many functions have."""
        noun, other = self.dice.sample(_NOUNS, 2)
        lines = [f"def {self.name()}_{self.dice.randrange(90)}({noun}, {other}):"]
        if self.dice.random() < 0.5:
            lines.append(f'{indent}"""{self.dice.choice(_VERBS).title()} the {noun} of a {other}."""')
        for _ in range(self.dice.randrange(2, 7)):
            kind = self.dice.randrange(5)
            if kind == 0:
                lines.append(f"{indent}{noun}_{other} = {self.name()}({noun}, {self.dice.randrange(500)})")
            elif kind == 1:
                lines += [f"{indent}if {noun} is None:", f"{indent * 2}{self.dice.choice(_COMMON)}"]
            elif kind == 2:
                lines += [f"{indent}for {noun} in {other}:", f"{indent * 2}{self.dice.choice(_COMMON)}"]
            elif kind == 3:
                lines.append(f"{indent}{self.dice.choice(_COMMON)}")
            else:
                lines.append(f"{indent}{self.name()}({noun}, {other}, scale={self.dice.randrange(90)})")
        return [*lines, f"{indent}return {noun}", "", ""]

    def functions(self, count: int) -> list[str]:
        return [line for _ in range(count) for line in self.function()]

    # -- files

    def lines(self, path: str) -> list[str]:
        return self.shop.read(path).removesuffix("\n").split("\n")

    def put(
        self, path: str, lines: list[str], who: str, writer: SessionWriter | None = None, *, whole: bool = False
    ) -> None:
        """Give a file these lines; those that it had not before are by `who`."""
        before = self.lines(path) if path in self.authors else []
        known = self.authors.get(path, [])
        authors: list[str] = []
        for tag, low, high, start, end in SequenceMatcher(None, before, lines, autojunk=False).get_opcodes():
            authors += known[low:high] if tag == "equal" else [who] * (end - start)
        assert len(authors) == len(lines)
        text = "\n".join(lines) + "\n"
        if writer is None:
            self.shop.type(path, text)
        elif whole or path not in self.authors:
            self.shop.write(writer, path, text)
        else:
            low, high, start, end = _span(before, lines)
            # As clients do: enough of the lines around it for the text to be there once.
            while self.shop.read(path).count("\n".join(before[low:high])) != 1 or low == high:
                low, start = max(0, low - 1), max(0, start - 1)
                high, end = min(len(before), high + 1), min(len(lines), end + 1)
            self.shop.edit(writer, path, "\n".join(before[low:high]), "\n".join(lines[start:end]))
        self.authors[path] = authors

    def insert(self, path: str, new: list[str], who: str, writer: SessionWriter | None = None) -> None:
        """Put lines between two functions."""
        lines = self.lines(path)
        tops = [number for number, line in enumerate(lines) if line.startswith("def ")] or [len(lines)]
        place = self.dice.choice(tops)
        self.put(path, [*lines[:place], *new, *lines[place:]], who, writer)

    def change_line(self, path: str, who: str, writer: SessionWriter | None = None, *, of: str | None = None) -> None:
        """Replace a line in the middle of something by another."""
        lines = self.lines(path)
        places = [
            number
            for number, line in enumerate(lines)
            if line.startswith("    ") and (of is None or self.authors[path][number] == of)
        ]
        place = self.dice.choice(places)
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        new = f"{indent}{self.name()}({self.dice.choice(_NOUNS)}, {self.dice.randrange(1000)})"
        self.put(path, [*lines[:place], new, *lines[place + 1 :]], who, writer)

    def touch_up(self, path: str) -> None:
        """A person changes a part of a line that a session wrote."""
        lines = self.lines(path)
        places = [
            number
            for number, line in enumerate(lines)
            if self.authors[path][number] not in (PERSON, MIXED) and "scale=" in line
        ]
        if places:
            place = self.dice.choice(places)
            lines[place] = lines[place].replace("scale=", "factor=")
            self.put(path, lines, MIXED)

    def remove(self, path: str) -> None:
        lines = self.lines(path)
        place = self.dice.randrange(len(lines) - 3)
        self.put(path, lines[:place] + lines[place + 2 :], PERSON)

    # -- what keeps the author

    def reshape(self, path: str, shape: object) -> None:
        """Run a formatter: each line becomes one or several by the same author."""
        lines, authors = [], []
        for line, who in zip(self.lines(path), self.authors[path], strict=True):
            made = shape(line)  # type: ignore[operator]
            lines += made
            authors += [who] * len(made)
        self.shop.type(path, "\n".join(lines) + "\n")
        self.authors[path] = authors

    def move(self, path: str, to: str) -> None:
        """Move a function somewhere else, in this file or another."""
        lines, authors = self.lines(path), self.authors[path]
        tops = [number for number, line in enumerate(lines) if line.startswith("def ")]
        index = self.dice.randrange(len(tops) - 1)
        low, high = tops[index], tops[index + 1]
        block, by = lines[low:high], authors[low:high]
        rest, rest_by = lines[:low] + lines[high:], authors[:low] + authors[high:]
        if to == path:
            places = [number for number, line in enumerate(rest) if line.startswith("def ") and number != low]
            place = self.dice.choice(places)
            rest, rest_by = rest[:place] + block + rest[place:], rest_by[:place] + by + rest_by[place:]
        else:
            other, other_by = self.lines(to), self.authors[to]
            self.shop.type(to, "\n".join([*other, *block]) + "\n")
            self.authors[to] = [*other_by, *by]
        self.shop.type(path, "\n".join(rest) + "\n")
        self.authors[path] = rest_by

    def rename(self, path: str, to: str) -> None:
        self.shop.git("mv", path, to)
        self.authors[to] = self.authors.pop(path)


def _span(before: list[str], after: list[str]) -> tuple[int, int, int, int]:
    low = 0
    while low < min(len(before), len(after)) and before[low] == after[low]:
        low += 1
    tail = 0
    while tail < min(len(before), len(after)) - low and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return low, len(before) - tail, low, len(after) - tail


def reindented(line: str) -> list[str]:
    """Two columns where there were four."""
    bare = line.lstrip(" ")
    return [" " * ((len(line) - len(bare)) // 2) + bare]


def broken(line: str) -> list[str]:
    """Arguments of long calls on lines of their own."""
    head, bracket, rest = line.partition("(")
    if len(line) < 44 or not bracket or not rest.endswith(")") or line.startswith("def "):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return [head + "(", *(f"{indent}    {part.strip()}," for part in rest[:-1].split(",")), indent + ")"]


def make_history(folder: Path, seed: int) -> History:
    """A repository in which everything happens once or more."""
    history = History(Workshop(folder), random.Random(seed))
    shop = history.shop
    history.put("tide.py", ["import os", "from typing import Any", "", "", *history.functions(6)], PERSON)
    history.put("harbour.py", ["import os", "", "", *history.functions(4)], PERSON)
    shop.commit("A person begins")

    first = shop.session("Add functions for gauges")
    history.put("gauge.py", ["import os", "import sys", "", "", *history.functions(8)], first.session_id, first)
    history.insert("tide.py", history.function(), first.session_id, first)
    history.change_line("tide.py", first.session_id, first)
    shop.commit_by(first, "Gauges")

    # A person and two sessions in one file.
    history.insert("gauge.py", history.function(), PERSON)
    second = shop.session("Make the gauges faster")
    history.insert("gauge.py", history.function(), second.session_id, second)
    history.change_line("gauge.py", second.session_id, second)
    history.insert("gauge.py", history.function(), PERSON)
    shop.commit("Work of several")
    history.touch_up("gauge.py")
    history.change_line("gauge.py", PERSON, of=first.session_id)
    shop.commit("By hand")

    # A branch that is rebased onto what a person did meanwhile.
    shop.git("checkout", "-q", "-b", "swell")
    third = shop.session("Add swells")
    history.put("swell.py", ["import math", "", "", *history.functions(5)], third.session_id, third)
    shop.commit_by(third, "Swells")
    history.insert("swell.py", history.function(), PERSON)
    history.insert("swell.py", history.function(), third.session_id, third)
    shop.commit("More swells")
    shop.git("checkout", "-q", "main")
    history.insert("harbour.py", history.function(), PERSON)
    shop.commit("Meanwhile")
    shop.wait(30)
    shop.git("rebase", "-q", "main", "swell")
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--ff-only", "swell")

    # A branch that is squashed, with a commit that is amended.
    shop.git("checkout", "-q", "-b", "pilot")
    fourth = shop.session("Add pilots")
    history.put("pilot.py", history.functions(5), fourth.session_id, fourth)
    shop.commit("Pilots")
    history.insert("pilot.py", history.function(), fourth.session_id, fourth)
    history.insert("tide.py", history.function(), fourth.session_id, fourth)
    shop.commit("Pilots again", "--amend")
    history.insert("pilot.py", history.function(), PERSON)
    shop.commit("Pilots by hand")
    shop.wait(60)
    shop.git("checkout", "-q", "main")
    shop.git("merge", "-q", "--squash", "pilot")
    shop.commit("Pilots, squashed")

    # Reverted, and the revert reverted.
    shop.wait(10)
    shop.git("revert", "--no-edit", "HEAD")
    shop.wait(10)
    shop.git("revert", "--no-edit", "HEAD")

    # Formatters, renames, moved blocks.
    history.reshape("pilot.py", reindented)
    shop.commit("Format pilots")
    history.reshape("swell.py", broken)
    shop.commit("Format swells")
    history.rename("gauge.py", "gauges.py")
    shop.commit("Rename gauges")
    history.insert("gauges.py", history.function(), PERSON)
    fifth = shop.session("Sort the gauges")
    history.insert("gauges.py", history.function(), fifth.session_id, fifth)
    history.move("gauges.py", "gauges.py")
    shop.commit("Move within")
    history.move("gauges.py", "harbour.py")
    shop.commit("Move to another file")
    lines = history.lines("harbour.py")
    history.put("harbour.py", [*lines, *history.function()], fifth.session_id, fifth, whole=True)
    history.remove("gauges.py")
    history.insert("tide.py", history.function(), PERSON)
    shop.commit("The end")
    shop.save()
    return history
