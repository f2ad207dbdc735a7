"""Pictures as files: whole or not there, the same every time, and no name in them is more than text."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hansard.cli.output import plots
from hansard.errors import UsageError
from hansard.model.ledger import UsageRow

from .test_charts import TODAY, by_model, months_of_work, report, row

with_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is an extra")

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


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


@with_matplotlib
@pytest.mark.parametrize("kind", ["bars", "calendar", "share"])
def test_a_png_for_a_chat(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "usage.PNG"
    path.write_bytes(b"an older one")
    plots.save(str(path), kind, by_model(months_of_work()) if kind == "share" else months_of_work(), TODAY)
    wide, high = size_of(path.read_bytes())
    assert wide == 1600
    assert 400 <= high <= 1000
    assert os.listdir(tmp_path) == ["usage.PNG"]


@with_matplotlib
@pytest.mark.parametrize("kind", ["bars", "calendar", "share"])
def test_an_svg_is_the_same_every_time_and_has_no_script(kind: str, tmp_path: Path) -> None:
    rows = [row(str(number + 1), day="2026-11-10", model=name) for number, name in enumerate(HOSTILE)]
    rows += [row(None, day="2026-11-11", model=name) for name in HOSTILE[:2]]
    found = by_model(report(rows)) if kind == "share" else report(rows)
    for name in ("one.svg", "two.svg"):
        plots.save(str(tmp_path / name), kind, found, TODAY)
    content = (tmp_path / "one.svg").read_bytes()
    assert content == (tmp_path / "two.svg").read_bytes()
    root = ET.fromstring(content)  # noqa: S314 - we wrote it
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {
        "svg",
        "metadata",
        "RDF",
        "Work",
        "type",
        "format",
        "creator",
        "Agent",
        "title",
        "defs",
        "style",
    } | {
        "g",
        "path",
        "use",
        "clipPath",
        "rect",
    }
    links = [value for element in root.iter() for key, value in element.attrib.items() if key.endswith("href")]
    assert all(link.startswith("#") for link in links)
    assert b"date" not in content.lower().replace(b"update", b"")


@with_matplotlib
def test_names_are_never_read_as_formulas(tmp_path: Path) -> None:
    """A name that is a broken formula would raise, and a right one would be drawn as another text."""
    for name in ("$\\frac{$", "$x^2$"):
        plots.save(str(tmp_path / "a.svg"), "share", report([row("1", model=name)]), TODAY)
        assert name.encode() in (tmp_path / "a.svg").read_bytes()  # the text stands in a comment beside its glyphs


@with_matplotlib
@pytest.mark.parametrize(
    "rows",
    [
        [row("1", hour="2026-11-10T14:00+01:00"), row("2", hour=None)],
        [row("1", week="2026-W46"), row("2", week="2025-W01")],
        [row("1", month="2026-11"), row("2", month="1970-01")],
    ],
    ids=["hour", "week", "month"],
)
def test_bars_of_every_time(rows: list[UsageRow], tmp_path: Path) -> None:
    plots.save(str(tmp_path / "a.png"), "bars", report(rows), TODAY)
    assert size_of((tmp_path / "a.png").read_bytes()) == (1600, 900)


@with_matplotlib
def test_years_of_days_and_tokens_without_a_price(tmp_path: Path) -> None:
    days = [(date(2023, 1, 1) + timedelta(days=number)).isoformat() for number in range(0, 1400, 3)]
    found = report([row(None, tokens=2**62, day=day, model="m") for day in days])
    plots.save(str(tmp_path / "a.png"), "bars", found, TODAY)
    plots.save(str(tmp_path / "b.png"), "calendar", found, TODAY)
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.png"]


@with_matplotlib
def test_the_settings_of_matplotlib_are_put_back(tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 3, "text.usetex": True}):
        before = dict(mpl.rcParams)
        plots.save(str(tmp_path / "a.png"), "share", by_model(months_of_work()), TODAY)
        assert dict(mpl.rcParams) == before


@with_matplotlib
def test_a_home_that_cannot_be_written_to_is_no_matter(tmp_path: Path) -> None:
    code = (
        "from tests.cli.test_charts import *\n"
        "from hansard.cli.output import plots\n"
        "plots.save('a.png', 'share', report([row('1', model='日本語')]), TODAY)\n"
    )
    places = dict.fromkeys(("HOME", "USERPROFILE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), os.devnull)
    project = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **places, "PYTHONPATH": str(project)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["a.png"]


def test_without_matplotlib_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'hansard\[plot\]'"):
        plots.save(str(tmp_path / "a.png"), "bars", months_of_work(), TODAY)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["usage", "usage.pdf", "usage.png.txt", ".png"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        plots.save(str(tmp_path / name), "bars", months_of_work(), TODAY)


@with_matplotlib
def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    for path in (tmp_path / "missing" / "a.svg", tmp_path / "taken.svg"):
        with pytest.raises(UsageError, match="cannot be written"):
            plots.save(str(path), "share", by_model(months_of_work()), TODAY)
    assert os.listdir(tmp_path) == ["taken.svg"]


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no usage"):
        plots.save(str(tmp_path / "a.png"), "bars", report([], ("day",)), TODAY)


def test_an_unknown_kind_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bars, calendar, share"):
        plots.save(str(tmp_path / "a.png"), "pie", months_of_work(), TODAY)
