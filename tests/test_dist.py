"""What `make dist` builds: the same bytes for the same source, with the revision in it, and nothing that does not belong there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent


def built(folder: Path, target: str, *, pure: bool) -> Path:
    folder.mkdir()
    scratch = folder / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TMPDIR": str(scratch)}
    environment["HANSARD_PURE_PYTHON"] = "1" if pure else "0"
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder / "dist")]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, env=environment)
    (made,) = (folder / "dist").iterdir()
    return made


@pytest.mark.parametrize(("target", "pure"), [("wheel", True), ("wheel", False), ("sdist", False)])
def test_the_same_source_gives_the_same_bytes(tmp_path: Path, target: str, *, pure: bool) -> None:
    first, second = (built(tmp_path / name, target, pure=pure) for name in ("first", "a-second-folder"))
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    if target == "sdist":
        with tarfile.open(first) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        assert {"src/hansard/index/_searchable.c", "tools/build_native.py", "LICENSE", "Containerfile"} <= names
    else:
        with zipfile.ZipFile(first) as wheel:
            names = set(wheel.namelist())
        assert {"hansard/mcp/answers.txt", "hansard/demo/history.msgpack.zst", "hansard/web/static/live.js"} <= names
        is_native = any(
            name.startswith("hansard/index/_searchable.") and name.endswith((".so", ".pyd")) for name in names
        )
        assert first.name.endswith("-py3-none-any.whl") is not is_native
        assert not (pure and is_native)
    inside = [name for name in names if name.endswith("hansard/revision.txt")]
    assert len(inside) == (PROJECT / ".git").exists()
    assert not [name for name in names if "__pycache__" in name or name.startswith((".git/", ".venv"))]


def test_the_image_and_the_release_name_what_there_is() -> None:
    """They cannot be run here: what they refer to is checked."""
    import yaml  # type: ignore[import-untyped] # its types are no dependency

    image = (PROJECT / "Containerfile").read_text()
    for path in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", image, re.MULTILINE):
        assert all((PROJECT / name).exists() for name in path.split())
    assert re.search(r'^ENTRYPOINT \["hansard"\]$', image, re.MULTILINE)
    workflow = yaml.safe_load((PROJECT / ".github/workflows/release.yml").read_text())
    jobs = workflow["jobs"]
    assert all(set(job.get("needs", [])) <= set(jobs) for job in jobs.values())
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+(\.\d+)*|[\w.-]+/[\w./-]+@release/v1", name) for name in used)
    assert workflow["permissions"] == {"contents": "read"}
    systems = jobs["wheels"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert "cp311-*" in settings["build"]
    assert "hansard --version" in settings["test-command"]
