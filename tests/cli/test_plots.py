"""Plots as files: complete or absent, the same every time, and names in them are never more than text."""

from __future__ import annotations

import os
import sys
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hansard.cli.commands.usage import save_chart
from hansard.errors import UsageError
from hansard.model.ledger import UsageRow

from .test_charts import TODAY, by_model, months_of_work, report, row

HOSTILE = [
    "$\\frac{1}{$",
    "_hidden",
    "]]><script>alert(1)</script>",
    "--><!--",
    "\x1b[31mred\x00",
    "日本語 \u05e2\u05d1\u05e8\u05d9\u05ea 👩‍👩‍👧",
    "\ufffe\uffff\ud800",
    "W" * 500,
    "",
    "%s{x}\\n&amp;",
]


def drawn(path: Path) -> ET.Element:
    return ET.fromstring(path.read_bytes())  # noqa: S314 - we wrote it


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in drawn(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.skipif(find_spec("resvg_py") is None, reason="resvg-py is an extra")
@pytest.mark.parametrize("kind", ["bars", "calendar", "share"])
def test_a_png_for_a_chat(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "usage.PNG"
    path.write_bytes(b"an older one")
    save_chart(str(path), kind, by_model(months_of_work()) if kind == "share" else months_of_work(), {}, TODAY)
    png = path.read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")
    assert int.from_bytes(png[16:20]) == 1600
    assert 400 <= int.from_bytes(png[20:24]) <= 1000
    assert os.listdir(tmp_path) == ["usage.PNG"]


@pytest.mark.parametrize("kind", ["bars", "calendar", "share"])
def test_an_svg_is_the_same_every_time_and_refers_to_nothing(kind: str, tmp_path: Path) -> None:
    rows = [row(str(number + 1), day="2026-11-10", model=name) for number, name in enumerate(HOSTILE)]
    rows += [row(None, day="2026-11-11", model=name) for name in HOSTILE[:2]]
    found = by_model(report(rows)) if kind == "share" else report(rows)
    for name in ("one.svg", "two.svg"):
        save_chart(str(tmp_path / name), kind, found, {}, TODAY)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    root = drawn(tmp_path / "one.svg")
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "style", "g", "rect", "line", "text"}
    assert not [key for element in root.iter() for key in element.attrib if key.endswith("href")]


def test_axis_legend_title_and_notes_of_bars(tmp_path: Path) -> None:
    save_chart(str(tmp_path / "a.svg"), "bars", months_of_work(), {}, TODAY)
    shown = texts(tmp_path / "a.svg")
    assert shown[0] == "Cost per day by model"
    assert shown[1] == "$348.05+? · 12 Oct 2026 to 15 Nov 2026 · UTC"
    assert {"$0.00", "$30.00", "16 Nov", "opus-5-5", "$329.55"} <= set(shown)
    assert [text for text in shown if text.startswith("Prices: ")]


def test_a_calendar_explains_its_shades(tmp_path: Path) -> None:
    save_chart(str(tmp_path / "a.svg"), "calendar", months_of_work(), {}, TODAY)
    shown = texts(tmp_path / "a.svg")
    assert {"Mon", "Nov", "nothing", "unpriced", "Current streak"} <= set(shown)
    assert len([text for text in shown if text.startswith("from $")]) == 4


def test_names_are_text(tmp_path: Path) -> None:
    for name in ("$\\frac{$", "$x^2$", "<b>&amp;"):
        save_chart(str(tmp_path / "a.svg"), "share", report([row("1", model=name)]), {}, TODAY)
        assert name in texts(tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("rows", "label"),
    [
        ([row("1", hour="2026-11-10T14:00+01:00"), row("2", hour=None)], "?"),
        ([row("1", week="2026-W46"), row("2", week="2025-W01")], "Nov 2026"),
        ([row("1", month="2026-11"), row("2", month="1970-01")], "2026"),
    ],
    ids=["hour", "week", "month"],
)
def test_bars_of_every_time(rows: list[UsageRow], label: str, tmp_path: Path) -> None:
    save_chart(str(tmp_path / "a.svg"), "bars", report(rows), {}, TODAY)
    assert label in texts(tmp_path / "a.svg")


def test_years_of_days_and_tokens_without_a_price(tmp_path: Path) -> None:
    days = [(date(2023, 1, 1) + timedelta(days=number)).isoformat() for number in range(0, 1400, 3)]
    found = report([row(None, tokens=2**62, day=day, model="m") for day in days])
    save_chart(str(tmp_path / "a.svg"), "bars", found, {}, TODAY)
    save_chart(str(tmp_path / "b.svg"), "calendar", found, {}, TODAY)
    assert {"Tokens per week by model", "Nov 2026"} <= set(texts(tmp_path / "a.svg"))
    assert "Tokens per day" in texts(tmp_path / "b.svg")


def test_without_resvg_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UsageError, match=r"pip install 'hansard\[plot\]', or write an \.svg"):
        save_chart(str(tmp_path / "a.png"), "bars", months_of_work(), {}, TODAY)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["usage", "usage.pdf", "usage.png.txt", ".png"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        save_chart(str(tmp_path / name), "bars", months_of_work(), {}, TODAY)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    for path in (tmp_path / "missing" / "a.svg", tmp_path / "taken.svg"):
        with pytest.raises(UsageError, match="cannot be written"):
            save_chart(str(path), "share", by_model(months_of_work()), {}, TODAY)
    assert os.listdir(tmp_path) == ["taken.svg"]


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no usage"):
        save_chart(str(tmp_path / "a.png"), "bars", report([], ("day",)), {}, TODAY)
