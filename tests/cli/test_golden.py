"""`hansard show` over the hard session, compared with what was looked at and found good.

HANSARD_GOLDEN=write writes the files anew; look at the difference before you keep it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .conftest import Run

GOLDEN = Path(__file__).parent / "golden"
# Not *.md: the formatter would rewrite the code in them.
CASES = {
    "show.txt": [],
    "show_narrow.txt": ["--last", "14"],
    "show_wide_all.txt": ["--depth", "all"],
    "show_colour.txt": ["--color", "always", "--turn", "1-7"],
    "show_prompts.txt": ["--depth", "prompts"],
    "markdown.txt": ["--markdown"],
    "markdown_all.txt": ["--markdown", "--depth", "all"],
    "show.json": ["--json"],
}


@pytest.mark.skipif(os.name == "nt", reason="the zone cannot be set there")
@pytest.mark.parametrize("name", CASES)
def test_show(run_hard: Run, hard: tuple[Path, str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200" if "wide" in name else "60" if "narrow" in name else "80")
    output = run_hard("show", hard[1], *CASES[name]).stdout
    if name.endswith(".json"):
        answer = json.loads(output)
        answer["session"]["root"] = ""  # where the test happened to write
        output = json.dumps(answer, indent=1, ensure_ascii=True) + "\n"
    path = GOLDEN / name
    if os.environ.get("HANSARD_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(output.encode())
    assert output == path.read_bytes().decode()
