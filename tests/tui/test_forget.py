"""Forgetting a session from the lists, the reader and the picker: shown, confirmed by a word, done."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from tests.cli.conftest import OTHER, SESSION
from tests.tui.driving import Driver, drive

TITLE = "When is high tide?"


def left(store: Path) -> set[str]:
    with hansard.open(store) as h:
        return {session.session_id for session in h.sessions().sessions}


@pytest.mark.parametrize("place", ["list", "reader", "picker"])
def test_shown_confirmed_and_done(store: Path, root: Path, place: str) -> None:
    (transcript,) = (root / "projects").rglob(f"{SESSION}.jsonl")

    async def steps(driver: Driver) -> None:
        if place == "picker":
            await driver.type("tide")
        else:
            await driver.press("j")
        if place == "reader":
            await driver.press("enter")
            assert "At noon." in driver.text
        await driver.press("f8" if place == "picker" else "D")
        assert "Forget " in driver.text
        assert "1 copy stays:" in driver.text
        assert "cannot be undone" in driver.text
        await driver.press("enter")
        await driver.type("forget")
        await driver.press("enter")
        assert "Receipt 1 of" in driver.text
        assert TITLE not in driver.text
        if place != "picker":
            await driver.press("2")
            assert TITLE not in driver.text

    drive(store, steps, roots=[root], size=(100, 24), purpose="resume" if place == "picker" else "", picks="")
    assert left(store) == {OTHER}
    assert transcript.exists()


def test_in_the_clients_own_files_too(store: Path, root: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("j", "D", "enter")
        await driver.type("forget source")
        await driver.press("enter")

    drive(store, steps, roots=[root])
    assert left(store) == {OTHER}
    assert not list((root / "projects").rglob(f"{SESSION}.jsonl"))


@pytest.mark.parametrize("keys", [("escape",), ("q",), ("enter", "escape"), ("enter", "y", "e", "s", "enter")])
def test_anything_else_leaves_everything(store: Path, root: Path, keys: tuple[str, ...]) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("j", "D", *keys)
        assert TITLE in driver.text

    drive(store, steps, roots=[root])
    assert left(store) == {SESSION, OTHER}


def test_what_is_held_is_refused(store: Path, root: Path) -> None:
    async def steps(driver: Driver) -> None:
        await driver.press("j", "D")
        assert "under a hold" in driver.text

    drive(store, steps, roots=[root], size=(120, 24), hold=[SESSION])
    assert left(store) == {SESSION, OTHER}
