"""Write constraints.txt, -dev and -spark: every dependency in one exact version, with the hashes of all files that may be installed.

The first file has what running needs, the second what tests, checks and benchmarks need besides, the third Spark. The resolver is pip itself, with whatever
index it is configured to use. What it finds for this machine is completed with what the same versions need on the other systems and Pythons
we support, so that the files serve all of them. They name no address.

    .venv/bin/python tools/pin.py        # or: make pin
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = (("linux", "Linux", "posix"), ("darwin", "Darwin", "posix"), ("win32", "Windows", "nt"))
FOREIGN = frozenset(
    {"pywin32"}
)  # has wheels for Windows alone, so pip may not find any here: the index tells its version
PLATFORM_TAGS = ("any", "manylinux", "musllinux", "macosx", "win32", "win_")
RUNNING = """\
# Every dependency of Hansard and of its extras, and what installs it. Made by `make pin`; do not edit by hand.
#     pip install --no-deps --require-hashes -r constraints.txt
#     pip install --no-deps --no-build-isolation -e .
"""
DEVELOPMENT = """\
# What tests, checks and benchmarks need besides constraints.txt. Made by `make pin`; do not edit by hand.
#     pip install --no-deps --require-hashes -r constraints.txt -r constraints-dev.txt
"""
SPARK = """\
# What `make spark` installs besides the other two. Made by `make pin`; do not edit by hand.
#     pip install --no-deps --no-build-isolation --require-hashes -r constraints-spark.txt
"""


@dataclass(frozen=True, slots=True)
class Pin:
    """One distribution in one version, and where it is needed (None: everywhere)."""

    name: str
    version: str
    marker: str | None
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        """Give the entry as pip reads it."""
        where = f" ; {self.marker}" if self.marker else ""
        return " \\\n".join([f"{self.name}=={self.version}{where}", *(f"    --hash=sha256:{h}" for h in self.hashes)])


def wanted() -> tuple[list[str], list[str], list[str]]:
    """Read what pyproject.toml asks for: to run Hansard with every extra, to work on it, and to test it with Spark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = project["dependency-groups"]
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    running = [*project["project"]["dependencies"], *groups.pop("build"), *chain(*extras.values())]
    spark = groups.pop("spark")
    return running, [*chain(*groups.values())], spark


def resolve(requirements: list[str]) -> dict[str, dict[str, Any]]:
    """Let pip choose versions, and return its report entries by canonical name."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*pip, "--report", str(report), *requirements], check=True)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(item["metadata"]["name"]): item for item in items}


def environments() -> list[dict[str, str]]:
    """List the marker environments of every system and Python we support."""
    result = []
    for python in PYTHONS:
        for platform, system, os_name in SYSTEMS:
            changed = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
            changed |= {"sys_platform": platform, "platform_system": system, "os_name": os_name}
            changed |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
            result.append({**{k: str(v) for k, v in default_environment().items()}, **changed})
    return result


def applies(marker: Marker | None, extras: Collection[str]) -> list[bool]:
    """Tell in which of our environments a marker holds, for somebody who wants these extras."""
    return [
        marker is None or any(marker.evaluate({**env, "extra": extra}) for extra in ("", *extras))
        for env in environments()
    ]


def needed(item: dict[str, Any], extras: Collection[str]) -> list[Requirement]:
    """List what a distribution with these extras needs in any of our environments."""
    needs = (Requirement(line) for line in item["metadata"].get("requires_dist", []))
    return [need for need in needs if any(applies(need.marker, extras))]


def wanted_extras(requirements: list[str], found: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """Collect the extras that somebody wants of each distribution."""
    extras: dict[str, set[str]] = {name: set() for name in found}
    before = None
    while before != extras:
        before = {name: set(some) for name, some in extras.items()}
        needs = chain.from_iterable(needed(item, extras[name]) for name, item in found.items())
        for need in (*map(Requirement, requirements), *needs):
            extras.setdefault(canonicalize_name(need.name), set()).update(need.extras)
    return extras


def resolve_everywhere(requirements: list[str]) -> dict[str, tuple[dict[str, Any], str | None]]:
    """Resolve for this machine, then add what the chosen versions need elsewhere, until nothing is missing."""
    roots = names(requirements)
    while True:
        found = resolve(requirements)
        extras = wanted_extras(requirements, found)
        needs: dict[str, list[Requirement]] = {}
        for need in map(Requirement, requirements):
            if any(applies(need.marker, ())):  # maybe on other systems only
                needs.setdefault(canonicalize_name(need.name), []).append(need)
        for parent, item in found.items():
            for need in needed(item, extras[parent]):
                needs.setdefault(canonicalize_name(need.name), []).append(need)
        for root in map(Requirement, requirements):
            if canonicalize_name(root.name) not in found:  # its marker does not hold on this machine
                needs.setdefault(canonicalize_name(root.name), []).append(root)
        absent = needs.keys() - found.keys()
        missing = [f"{need.name}{need.specifier}" for name in absent - FOREIGN for need in needs[name]]
        if not missing:
            found |= {name: newest(name, needs[name]) for name in absent}
            break
        requirements = [*requirements, *sorted(set(missing))]
    everything = set(chain.from_iterable(extras.values()))
    return {
        name: (item, None if name in roots else marker_for(needs[name], everything)) for name, item in found.items()
    }


def newest(name: str, needs: list[Requirement]) -> dict[str, Any]:
    """Choose the newest version of a distribution by the indexes, and give it as pip's report would."""
    versions = {}
    for index in indexes():
        for file, digest in listed_files(index, name).items():
            if file.endswith(".whl"):
                version = parse_wheel_filename(file)[1]
                if all(need.specifier.contains(version) for need in needs) and usable(file, str(version)):
                    versions[version] = digest
    if not versions:
        raise SystemExit(f"no index has {name}")
    latest = max(versions)
    hashes = {"hashes": {"sha256": versions[latest]}}
    return {"metadata": {"name": name, "version": str(latest)}, "download_info": {"archive_info": hashes}}


def names(requirements: list[str]) -> set[str]:
    """Give the canonical names of requirements."""
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def closure(roots: set[str], found: dict[str, tuple[dict[str, Any], str | None]]) -> set[str]:
    """Add to some distributions whatever they need, directly or not."""
    reached: set[str] = set()
    extras = wanted_extras([], {name: item for name, (item, _) in found.items()})
    waiting = list(roots)
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += [canonicalize_name(need.name) for need in needed(found[name][0], extras[name])]
    return reached


def marker_for(needs: list[Requirement], extras: Collection[str]) -> str | None:
    """Join the conditions under which something is needed; None when together they hold everywhere."""
    if all(any(column) for column in zip(*(applies(need.marker, extras) for need in needs), strict=True)):
        return None
    return " or ".join(sorted({f"({need.marker})" if len(needs) > 1 else str(need.marker) for need in needs}))


def indexes() -> list[str]:
    """Ask pip for its package indexes."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True)
    settings = dict(line.split("=", 1) for line in listed.stdout.splitlines() if "=" in line)

    def setting(option: str) -> list[str]:
        keys = (f":env:.{option}", f"install.{option}", f"global.{option}")
        value = next((settings[key] for key in keys if key in settings), "''")
        return value.strip("'\"").replace("\\n", " ").split()

    return [*(setting("index-url") or ["https://pypi.org/simple"]), *setting("extra-index-url")]


class Links(HTMLParser):
    """Collects file names and their sha256 from a simple-index page."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the name and the hash out of one link."""
        given = dict(attrs)
        if tag != "a" or "data-yanked" in given:
            return
        url = urllib.parse.urlsplit(given.get("href") or "")
        algorithm, _, digest = url.fragment.partition("=")
        if algorithm == "sha256":
            self.files[urllib.parse.unquote(url.path.rsplit("/", 1)[-1])] = digest


def listed_files(index: str, name: str) -> dict[str, str]:
    """Read one project's page of an index, in either of its two forms; an index without the project has no files."""
    request = urllib.request.Request(
        f"{index.rstrip('/')}/{name}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"},
    )
    if index.startswith("file:"):
        page = Path(urllib.request.url2pathname(urllib.parse.urlsplit(index).path)) / name / "index.html"
        body, kind = (page.read_bytes() if page.is_file() else b""), "text/html"
    else:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                body, kind = answer.read(), answer.headers.get_content_type()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return {}
    if kind.endswith("json"):
        files = json.loads(body)["files"]
        return {f["filename"]: f["hashes"]["sha256"] for f in files if "sha256" in f["hashes"] and not f.get("yanked")}
    links = Links()
    links.feed(body.decode())
    return links.files


def usable(filename: str, version: str) -> bool:
    """Tell whether a file is that version, and something that one of our Pythons and systems can install."""
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)[1] == Version(version)
        _, found, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return False
    newest = int(PYTHONS[-1].replace(".", ""))
    native = {f"cp{python.replace('.', '')}" for python in PYTHONS}
    for tag in tags:
        stable = tag.abi == "abi3" and tag.interpreter[:2] == "cp" and int(tag.interpreter[2:]) <= newest
        pure = tag.interpreter[:2] == "py" and tag.interpreter != "py2"
        own = tag.interpreter in native and tag.abi in {tag.interpreter, "none"}
        if found == Version(version) and (stable or pure or own) and tag.platform.startswith(PLATFORM_TAGS):
            return True
    return False


def main() -> None:
    """Resolve, collect the hashes, and replace the files."""
    where = indexes()
    pins = []
    running, development, spark = wanted()
    found = resolve_everywhere([*running, *development, *spark])
    for name, (item, marker) in sorted(found.items()):
        version = item["metadata"]["version"]
        hashes = {item["download_info"]["archive_info"]["hashes"]["sha256"]}
        for index in where:
            hashes |= {digest for file, digest in listed_files(index, name).items() if usable(file, version)}
        pins.append(Pin(name, version, marker, tuple(sorted(hashes))))
        print(f"{name}=={version}: {len(hashes)} files", file=sys.stderr)
    to_run = closure(names(running), found)
    write("constraints.txt", RUNNING, [pin for pin in pins if pin.name in to_run])
    to_work = closure(names(development), found) - to_run
    write("constraints-dev.txt", DEVELOPMENT, [pin for pin in pins if pin.name in to_work])
    write("constraints-spark.txt", SPARK, [pin for pin in pins if pin.name not in to_run | to_work])


def write(name: str, header: str, pins: list[Pin]) -> None:
    """Replace one file of pins as a whole."""
    target = ROOT / name
    fresh = target.with_suffix(".new")
    fresh.write_text(header + "".join(f"{pin}\n" for pin in pins), encoding="utf-8", newline="\n")
    os.replace(fresh, target)


if __name__ == "__main__":
    main()
