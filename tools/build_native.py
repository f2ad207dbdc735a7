"""Build the native module where that is possible, and note the revision; without the module Python does the same, more slowly.

Hatchling runs this for every wheel and sdist. HANSARD_PURE_PYTHON=1 leaves the module out. An editable install has the module beside its source. By hand, after a change to the C file:

    .venv/bin/python tools/build_native.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "hansard" / "index" / "_searchable.c"
PACKAGE = "hansard/index"


def build(scratch: Path) -> Path | None:
    """Compile the module into a scratch folder; None where there is no compiler, or none that can."""
    try:
        if os.environ.get("HANSARD_PURE_PYTHON", "") not in ("", "0"):
            raise NotImplementedError("HANSARD_PURE_PYTHON is set")  # noqa: TRY301 - one way out
        if sys.implementation.name != "cpython":
            raise NotImplementedError(f"{sys.implementation.name} is not CPython")  # noqa: TRY301 - one way out
        from setuptools import Distribution, Extension  # type: ignore[import-untyped]
        from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

        # No debug information: it names the scratch folder, and the same source must give the same wheel.
        plain = [] if sys.platform == "win32" else ["-g0"]
        extension = Extension("_searchable", [str(SOURCE)], py_limited_api=True, extra_compile_args=plain)
        command = build_ext(Distribution({"name": "hansard", "ext_modules": [extension]}))
        command.build_lib, command.build_temp = str(scratch / "built"), str(scratch / "objects")
        command.ensure_finalized()
        command.run()
        return Path(command.get_ext_fullpath("_searchable"))
    except Exception as error:  # noqa: BLE001 - whatever keeps a compiler from working, Hansard can do without
        print(f"The native module was not built: {error}. Texts will be indexed more slowly.", file=sys.stderr)
        return None


def build_in_place() -> Path | None:
    """Put the module beside its source, in the place of one that an older source was built into."""
    for old in [*SOURCE.parent.glob("_searchable*.so"), *SOURCE.parent.glob("_searchable*.pyd")]:
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        built = build(Path(scratch))
        return Path(shutil.copy(built, SOURCE.parent)) if built is not None else None


def find_revision() -> str:
    """The commit that is built, with a plus sign if files differ from it; in an unpacked sdist what that says."""
    noted = ROOT / "src" / "hansard" / "revision.txt"
    if noted.exists():
        return noted.read_text(encoding="ascii").strip()
    if not (ROOT / ".git").exists():
        return ""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class NativeModuleHook(BuildHookInterface[Any]):
    """Adds the native module to a wheel, whose name then tells the platform; without it the wheel is pure Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before files are collected."""
        if version == "editable":
            build_in_place()
            return
        self._scratch = tempfile.mkdtemp()
        if revision := find_revision():
            noted = Path(self._scratch, "revision.txt")
            noted.write_text(f"{revision}\n", encoding="ascii")
            folder = "hansard" if self.target_name == "wheel" else "src/hansard"
            build_data["force_include"][str(noted)] = f"{folder}/revision.txt"
        if self.target_name != "wheel":
            return
        built = build(Path(self._scratch))
        if built is not None:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{platform}"
            build_data["force_include"][str(built)] = f"{PACKAGE}/{built.name}"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """Leave nothing behind."""
        if version != "editable":
            shutil.rmtree(self._scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(build_in_place() is None)
