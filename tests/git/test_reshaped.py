"""Lines of sessions that a formatter, a move, `sed` or a removed worktree took away from where the session wrote them."""

from __future__ import annotations

import pytest

from hansard.engine import Hansard
from hansard.git.shell import Substitution, read_command
from tests.demo_history.tools import bash
from tests.git.making import Workshop

CALLS = """\
def soundings(chart, tide):
    depth = measure_depth(chart, tide, unit="metre", fallback=chart.mean_depth)
    return correct_for_swell(depth, tide.swell_height, tide.swell_period, chart.exposure)
"""
BROKEN = """\
def soundings(chart, tide):
    depth = measure_depth(
        chart,
        tide,
        unit='metre',
        fallback=chart.mean_depth,
    )
    return correct_for_swell(
        depth, tide.swell_height, tide.swell_period, chart.exposure
    )
"""


def authors(h: Hansard, shop: Workshop, path: str) -> list[str | None]:
    """The session that each line with a letter is attributed to."""
    shop.save()
    h.sync()
    report = h.blame(str(shop.root / path))
    sessions = {edit.number: edit.session_id for edit in report.edits}
    return [sessions.get(line.edit or 0) for line in report.lines if any(map(str.isalnum, line.text))]


def test_calls_broken_over_lines(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", CALLS)
    shop.commit("Soundings")
    shop.type("tide.py", BROKEN)
    shop.commit("Format")
    assert authors(h, shop, "tide.py") == [writer.session_id] * 8


def test_lines_joined_again(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", BROKEN)
    shop.commit("Soundings")
    shop.type("tide.py", CALLS)
    shop.commit("Format")
    assert authors(h, shop, "tide.py") == [writer.session_id] * 3


def test_a_persons_own_call_is_not_the_sessions(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", CALLS)
    shop.commit("Soundings")
    mine = "def mine(chart):\n    return measure_depth(\n        chart,\n        other,\n    )\n"
    shop.type("tide.py", CALLS + "\n\n" + mine)
    shop.commit("By hand")
    assert authors(h, shop, "tide.py") == [writer.session_id] * 3 + [None] * 4


def test_a_block_moved_to_another_file_with_common_lines(shop: Workshop, h: Hansard) -> None:
    """Lines that both files have belong to the block that they were moved with."""
    helper = "def swell_height_of(chart):\n    result = []\n    result.append(chart.exposure_to_swell())\n    return result\n"
    other = "def names():\n    result = []\n    return result\n"
    writer = shop.session("Write helpers")
    shop.write(writer, "tide.py", helper + "\n\n" + other)
    shop.commit("Helpers")
    shop.type("swell.py", "import os\n\n\n" + helper)
    shop.type("tide.py", other)
    shop.commit("Move")
    assert authors(h, shop, "swell.py") == [None] + [writer.session_id] * 4


def test_a_copy_is_the_persons(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", CALLS)
    shop.commit("Soundings")
    shop.type("copy.py", CALLS)
    shop.commit("Copy")
    assert authors(h, shop, "copy.py") == [None] * 3
    for name in ("depth.py", "lib/soundings.py"):
        shop.type(name, "")
        shop.git("mv", "-f", "tide.py" if name == "depth.py" else "depth.py", name)
        shop.commit("Rename")
    assert authors(h, shop, "copy.py") == [None] * 3


def test_a_copy_is_the_persons_after_both_were_formatted(shop: Workshop, h: Hansard) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", CALLS)
    shop.commit("Soundings")
    shop.type("copy.py", CALLS)
    shop.commit("Copy")
    for name in ("tide.py", "copy.py"):
        shop.type(name, BROKEN)
    shop.commit("Format")
    assert authors(h, shop, "copy.py") == [None] * 8
    assert authors(h, shop, "tide.py") == [writer.session_id] * 8


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/depth/sounding/g' tide.py",
        "sed -i -e 's#depth#sounding#g' tide.py && git diff --stat",
        r"sed -i -E 's/(de)pth/sounding/g' tide.py",
        "grep -rl depth . | xargs sed -i 's/depth/sounding/g'",
        "perl -pi -e 's/depth/sounding/g' tide.py",
    ],
)
def test_a_word_replaced_by_a_recorded_command(shop: Workshop, h: Hansard, command: str) -> None:
    writer = shop.session("Write soundings")
    shop.write(writer, "tide.py", "import os\n\n\n" + CALLS)
    shop.commit("Soundings")
    other = shop.session("Rename")
    shop.type("tide.py", ("import os\n\n\n" + CALLS).replace("depth", "sounding"))
    shop.call(other, bash(command))
    shop.commit("Rename")
    one, two = writer.session_id, other.session_id
    assert authors(h, shop, "tide.py") == [one, one, two, two]


def test_what_commands_replace() -> None:
    def found(command: str) -> list[Substitution]:
        return read_command(command, "/repo").substitutions

    assert found(r"sed -i 's/\(a\)\.b/\1 \& &/; s|x/y|z|' 'a b.py'") == [
        Substitution("/repo/a b.py", r"(a)\.b", r"\g<1> & \g<0>"),
        Substitution("/repo/a b.py", "x/y", "z"),
    ]
    assert found("cd sub && sed -i '' 's/a/b/' x.py") == [Substitution("/repo/sub/x.py", "a", "b")]
    assert found("sed -i 's/a/b/' src/*.py") == [Substitution("", "a", "b")]
    for harmless in ("sed 's/a/b/' x.py", "sed -n 's/a/b/p' x", "sed -i 's/a", "sed -i -E 's/(a+)+b/c/' x.py"):
        assert found(harmless) == []
    assert found("sed -i -E 's/a*b*c*d*$/x/' x.py") == []  # too slow on a line that was made for it


@pytest.mark.parametrize("how", ["merge", "rebase", "recorded"])
def test_a_sibling_worktree_that_was_removed(shop: Workshop, h: Hansard, how: str) -> None:
    shop.type("src/start.py", "import os\n")
    shop.commit("Begin")
    if how == "recorded":
        opener = shop.session("Open a worktree")
        shop.call(opener, bash("git worktree add ../calm-sea -b calm"))
    shop.git("worktree", "add", "-q", "-b", "calm", str(shop.folder / "calm-sea"))
    main, shop.root = shop.root, shop.folder / "calm-sea"
    writer = shop.session("Write soundings")
    shop.write(writer, "src/tide.py", CALLS)
    if how == "recorded":
        shop.commit("Soundings")
    else:
        shop.commit_by(writer, "Soundings")
    shop.root = main
    if how == "rebase":
        shop.type("other.py", "x = 1\n")
        shop.commit("Meanwhile")
        shop.wait(30)
        shop.root = shop.folder / "calm-sea"
        shop.git("rebase", "-q", "main")
        shop.root = main
    shop.git("merge", "-q", "--ff-only", "calm")
    shop.git("worktree", "remove", "--force", str(shop.folder / "calm-sea"))
    shop.git("branch", "-q", "-D", "calm")
    if how == "rebase":
        shop.git("reflog", "expire", "--expire=now", "--all")
        shop.git("gc", "-q", "--prune=now")
    assert authors(h, shop, "src/tide.py") == [writer.session_id] * 3


def test_a_removed_worktree_is_known_by_the_files_changed_there(shop: Workshop, h: Hansard) -> None:
    """Scratch files elsewhere do not count, and some files may have other names now."""
    shop.type("src/start.py", "import os\n")
    shop.commit("Begin")
    shop.git("worktree", "add", "-q", "-b", "calm", str(shop.folder / "calm-sea"))
    main, shop.root = shop.root, shop.folder / "calm-sea"
    writer = shop.session("Write soundings")
    shop.write(writer, "src/tide.py", CALLS)
    shop.write(writer, "src/chart.py", "def mean_depth_of_chart(chart):\n    return chart.mean_depth\n")
    shop.write(writer, "src/swell.py", "def swell_height_of_tide(tide):\n    return tide.swell_height\n")
    for name in ("one", "two"):
        shop.write(writer, str(shop.folder / "scratch" / f"{name}.py"), "print(1)\n")
    shop.commit("Soundings")
    shop.root = main
    shop.git("merge", "-q", "--ff-only", "calm")
    shop.git("worktree", "remove", "--force", str(shop.folder / "calm-sea"))
    shop.git("mv", "src/swell.py", "src/waves.py")
    shop.commit("Rename")
    assert authors(h, shop, "src/tide.py") == [writer.session_id] * 3
