"""What the invented developer works on: projects with their stories, source files, and what commands print."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import msgspec

from tests.demo_history.client import Dice, load


@dataclass(frozen=True, slots=True)
class Episode:
    """One piece of work: the question, the place, the change and how it was told."""

    title: str
    ask: str
    think: str
    look: str
    pattern: str
    file: str
    old: str
    new: str
    failed: str
    done: str
    more: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A repository and what there is to tell of it."""

    name: str
    folder: str
    language: str
    test: str
    nouns: tuple[str, ...]
    files: tuple[str, ...]
    about: str
    episodes: tuple[Episode, ...]


@cache
def projects() -> tuple[Project, ...]:
    """Read the projects and their stories."""
    return msgspec.convert(load("stories.toml")["projects"], tuple[Project, ...])


def _verbs() -> list[str]:
    return cast("list[str]", load("sources.toml")["verbs"])


def source_file(language: str, nouns: tuple[str, ...], dice: Dice, *, holding: str = "", parts: int = 8) -> str:
    """Give a source file of so many parts, with `holding` somewhere in the middle."""
    template = load("sources.toml")["languages"][language]

    def filled(text: str) -> str:
        noun, other = dice.sample(nouns, 2)
        verb = dice.choice(_verbs())
        words = {"noun": noun, "other": other, "verb": verb, "Noun": noun.title(), "Other": other.title()}
        return text.format(**words, Verb=verb.title(), n=dice.randrange(10, 99), m=dice.randrange(3, 90))

    chunks = [filled(dice.choice(template["parts"])) for _ in range(parts)]
    if holding:
        chunks.insert(dice.randrange(1, parts), "\n" + holding.strip("\n") + "\n")
    return filled(template["head"]) + "\n" + "\n".join(chunks).strip("\n") + "\n"


def listing(dice: Dice, files: tuple[str, ...]) -> str:
    """Give what `ls -l` would print."""
    rows = [
        f"-rw-r--r-- 1 mira mira {dice.randrange(300, 24000):6d} Sep {dice.randrange(1, 29):2d} 09:{dice.randrange(10, 59)} {name}"
        for name in files
    ]
    return "\n".join([f"total {len(files) * 4}", *rows])


def suite_report(language: str, dice: Dice, nouns: tuple[str, ...], failed: str = "") -> str:
    """Give what the tests of a language print, with one failure when `failed` says which."""
    names = [
        f"{dice.choice(load('sources.toml')['verbs'])}_{dice.choice(nouns)}_{number}"
        for number in range(dice.randrange(14, 46))
    ]
    seconds = dice.randrange(80, 900) / 100
    broken = len(names) // 2 if failed else -1
    rows = []
    for number, name in enumerate(names):
        bad = number == broken
        if language == "rust":
            rows.append(f"test {name} ... {'FAILED' if bad else 'ok'}")
        elif language == "go":
            rows.append(
                f"--- {'FAIL' if bad else 'PASS'}: Test{name.title().replace('_', '')} (0.0{dice.randrange(1, 9)}s)"
            )
        elif language == "python":
            rows.append(f"tests/test_{name.split('_')[1]}.py::test_{name} {'FAILED' if bad else 'PASSED'}")
        else:
            rows.append(f"  {'✗' if bad else '✓'} {name.replace('_', ' ')} ({dice.randrange(1, 40)} ms)")
    end = f"{len(names) - bool(failed)} passed" + (", 1 failed" if failed else "") + f" in {seconds:.2f}s"
    return "\n".join([*rows, *(["", failed] if failed else []), "", end])


def log_lines(dice: Dice, nouns: tuple[str, ...], count: int) -> str:
    """Give a service's log, long enough to spill over when wanted."""
    rows = []
    second = dice.randrange(3600)
    for _ in range(count):
        second += dice.randrange(1, 9)
        level = dice.choices(("INFO", "DEBUG", "WARN", "ERROR"), (60, 25, 12, 3))[0]
        clock = f"{7 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        noun = dice.choice(nouns)
        rows.append(
            f"{clock} {level:5} {noun}.{dice.choice(load('sources.toml')['verbs'])} id={dice.hex(8)} took={dice.randrange(1, 900)}ms"
        )
    return "\n".join(rows)
