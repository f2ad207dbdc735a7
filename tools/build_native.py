"""Build the native module where that is possible; without it Python does the same, more slowly.

Hatchling runs this for every wheel. An editable install has the module beside its source. By hand, after a change to the C file:

    .venv/bin/python tools/build_native.py
"""

from __future__ import annotations

import shutil
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
        if sys.implementation.name != "cpython":
            raise NotImplementedError(f"{sys.implementation.name} is not CPython")  # noqa: TRY301 - one way out
        from setuptools import Distribution, Extension  # type: ignore[import-untyped]
        from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

        extension = Extension("_searchable", [str(SOURCE)], py_limited_api=True)
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


class NativeModuleHook(BuildHookInterface[Any]):
    """Adds the native module to a wheel, whose name then tells the platform; without it the wheel is pure Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before files are collected."""
        if version == "editable":
            build_in_place()
            return
        self._scratch = tempfile.mkdtemp()
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
