"""Secrets and forgetting: what the rules find beside betterleaks, how fast, and what an append and an erasure cost."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hansard
from benchmarks import data
from benchmarks.measure import Failed, child, environment, run
from benchmarks.table import Figure
from tests.guard.planted_secrets import KINDS, Planted, plant

Tell = Callable[[str], None]

TITLE = "guard: secrets and forgetting"
_SEEDS = range(1001, 1005)  # which no test uses
_WAYS: dict[str, Callable[[str], str]] = {
    "as people write them": lambda line: line,
    "in a line of a transcript": lambda line: json.dumps(
        {"type": "user", "message": {"role": "user", "content": line}}
    ),
    "in a tool's JSON in such a line": lambda line: json.dumps(
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": json.dumps({"stdout": line})}]}}
    ),
    "in Base64": lambda line: b64encode(line.encode()).decode(),
}
_APPENDS = 30
_TOKEN = "ghp_" + "aB3dE5gH7j" * 3 + "0pQr1s"


def figures(scratch: Path, size: int, tell: Tell, betterleaks: Path | None) -> Iterator[Figure]:
    """Recall beside that of betterleaks, if its program is there; speed beside the bare engine; appends; forgetting."""
    env = environment(scratch / "home")
    yield from _recall(scratch, env, tell, betterleaks)
    yield from _speed(scratch, env, tell)
    yield from _costs(scratch, size, env, tell)


# -- recall


def _recall(scratch: Path, env: dict[str, str], tell: Tell, betterleaks: Path | None) -> Iterator[Figure]:
    for way in _WAYS:
        tell(f"guard: recall {way}")
        place = scratch / "planted"
        count = write_planted(place, way)
        ours = {name: run(child("find-planted", place, name), env).answer for name in ("kept", "own")}
        yield Figure(f"{count} secrets of {len(KINDS)} kinds {way}: found", (100 * ours["kept"]["share"],), "%")
        yield Figure("  with our own rules alone", (100 * ours["own"]["share"],), "%")
        if betterleaks is None:
            continue
        theirs = _found_by(betterleaks, place, env)
        share = sum(theirs.values()) / count
        beside = (
            ("only betterleaks", float(sum(theirs[name] and not ours["kept"]["found"][name] for name in theirs))),
        )
        yield Figure("  betterleaks", (100 * share,), "%")
        yield Figure(
            "  found / found by betterleaks", (ours["kept"]["share"] / share,), "x", 1, at_least=True, beside=beside
        )


def write_planted(place: Path, way: str) -> int:
    """Write each secret into a file of its own, and a list of what is in them."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "texts").mkdir(parents=True)
    listed = {}
    for number, planted in enumerate(one for seed in _SEEDS for one in plant(seed)):
        name = f"{number:05}.txt"
        (place / "texts" / name).write_text(f"before\n{_WAYS[way](planted.line)}\nafter\n", encoding="utf-8")
        listed[name] = planted._asdict()
    (place / "planted.json").write_text(json.dumps(listed), encoding="utf-8")
    return len(listed)


def find_planted(place: str, rules: str) -> dict[str, Any]:
    """Which of these our rules find, alone or with the kept ones."""
    from hansard.guard.detection import Detector
    from hansard.guard.kept_rules import load_kept_rules

    kept = load_kept_rules() if rules == "kept" else None
    if rules == "kept" and kept is None:
        raise SystemExit("the extra `secrets` is not installed")
    find = Detector(kept).find
    listed = _listed(Path(place))
    found = {
        name: any(_is(planted, secret.value) for secret in find((Path(place) / "texts" / name).read_text("utf-8")))
        for name, planted in listed.items()
    }
    return {"share": sum(found.values()) / len(found), "found": found}


def _found_by(program: Path, place: Path, env: dict[str, str]) -> dict[str, bool]:
    report = place / "betterleaks.json"
    words = ["--no-banner", "--silent", "--exit-code=0", "--no-allow-signatures", "-o", str(report)]
    run([str(program), "filesystem", str(place / "texts"), *words], env)
    said: dict[str, list[str]] = {}
    for finding in json.loads(report.read_text("utf-8"))["findings"]:
        said.setdefault(os.path.basename(finding["location"]["path"]), []).append(finding["match"]["value"])
    return {
        name: any(_is(planted, secret) for secret in said.get(name, ())) for name, planted in _listed(place).items()
    }


def _listed(place: Path) -> dict[str, Planted]:
    return {name: Planted(**given) for name, given in json.loads((place / "planted.json").read_text("utf-8")).items()}


def _is(planted: Planted, secret: str) -> bool:
    """Whether a finding is the planted secret, or the larger part of it, however its line breaks are written."""
    value, found = (re.sub(r"\\+[nr]?|\s", "", text) for text in (planted.value, secret))
    return bool(found) and (value in found or (found in value and 2 * len(found) > len(value)))


# -- speed


def _speed(scratch: Path, env: dict[str, str], tell: Tell) -> Iterator[Figure]:
    tell("guard: speed")
    try:
        root = data.public(scratch)
    except Failed:
        root = data.bulk(scratch, 60_000_000)
    told = run(child("scan-speed", root), env).answer
    size = told["bytes"] / 1e6
    yield Figure("the bare engine on every line", tuple(size / spent for spent in told["bare"]), "MB/s")
    yield Figure("our search of every line, with the kept rules", tuple(size / spent for spent in told["ours"]), "MB/s")
    yield Figure("  without them", tuple(size / spent for spent in told["own"]), "MB/s")
    store = scratch / "guard-speed"
    shutil.rmtree(store, ignore_errors=True)
    run(child("sync", store, root), env)
    told = run(child("scan-store", store), env).answer
    yield Figure("scan of the whole store", (told["bytes"] / 1e6 / told["cpu"],), "MB/s")


def scan_speed(root: str) -> dict[str, Any]:
    """CPU seconds of the engine, and of our search with it and without it, on every line of a history, in turn."""
    from hansard.guard.detection import Detector
    from hansard.guard.kept_rules import load_kept_rules

    kept = load_kept_rules()
    if kept is None:
        raise SystemExit("the extra `secrets` is not installed")
    lines = [line for path in sorted(Path(root).rglob("*.jsonl")) for line in path.read_bytes().split(b"\n") if line]
    lines = [line for line in lines if len(line) < 1 << 20]
    texts = [line.decode("utf-8", "replace") for line in lines]
    scan = kept._scan  # noqa: SLF001 - the engine itself
    ways: dict[str, Callable[[], Iterable[object]]] = {
        "bare": lambda: map(scan, lines),
        "ours": lambda: map(Detector(kept).find, texts),
        "own": lambda: map(Detector(None).find, texts),
    }
    took: dict[str, Any] = {"bytes": sum(map(len, lines)), **{name: [] for name in ways}}
    for _ in range(3):
        for name, way in ways.items():
            before = time.process_time()
            for _ in way():
                pass
            took[name].append(time.process_time() - before)
    return took


def scan_store(home: str) -> dict[str, float]:
    with hansard.open(home) as h:
        before = time.process_time()
        report = h.scan_secrets()
        return {"bytes": report.bytes_read, "cpu": time.process_time() - before}


# -- appends and forgetting


def _costs(scratch: Path, size: int, env: dict[str, str], tell: Tell) -> Iterator[Figure]:
    dataset = data.working_copy("guard", data.bulk(scratch, size), scratch / "guard-history")
    store = scratch / "guard-store"
    tell("guard: syncing and scanning the large store")
    shutil.rmtree(store, ignore_errors=True)
    run(child("sync", store, dataset.root), env)
    told = run(child("scan-store", store), env).answer
    yield Figure(f"first scan of {told['bytes'] / 1e9:.1f} GB, CPU time", (told["cpu"],), "s")
    tell("guard: appends")
    told = run(child("scan-append", store, dataset.root, dataset.biggest, _APPENDS), env).answer
    yield Figure("a line appended: sync, CPU time", tuple(told["sync"]), "ms")
    yield Figure("  the scan after it, CPU time", tuple(told["scan"]), "ms", 10)
    tell("guard: forgetting")
    told = run(child("forget-one", store, dataset.root), env).answer
    yield Figure(f"forget a session of {told['bytes'] / 1e6:.1f} MB, preview", (told["plan"],), "s")
    yield Figure("  done: erased, and all databases written anew", (told["forget"],), "s")
    yield Figure("forget a secret in one session, preview", (told["plan_secret"],), "s")
    yield Figure("  done", (told["forget_secret"],), "s")
    yield Figure("scrub that session with a backup", (told["scrub"],), "s")


def scan_append(home: str, root: str, path: str, times: str) -> dict[str, list[float]]:
    """CPU milliseconds of a sync of one appended line, and of the scan after it."""
    from benchmarks.child import add_line

    took: dict[str, list[float]] = {"sync": [], "scan": []}
    with hansard.open(home, [root]) as h:
        for number in range(int(times) + 1):
            add_line(path, f"zq{uuid.uuid4().hex}")
            first = time.process_time()
            h.sync(only=[path])
            second = time.process_time()
            report = h.scan_secrets()
            third = time.process_time()
            if report.unscanned_bytes or not report.bytes_read:
                raise SystemExit("the line was not searched")
            if number:  # the first one imports and loads the rules
                took["sync"].append((second - first) * 1000)
                took["scan"].append((third - second) * 1000)
    return took


def forget_one(home: str, root: str) -> dict[str, float]:
    """Wall seconds: forget a session of usual size, then a secret in another one, and scrub a third."""
    from benchmarks.child import add_line

    took: dict[str, float] = {}
    with hansard.open(home, [root]) as h:
        sessions = sorted(h.sessions(limit=None).sessions, key=lambda session: session.bytes)
        usual = sessions[len(sessions) // 2 :][:3]
        took["bytes"] = float(usual[0].bytes)

        def timed(name: str, work: Callable[[], object]) -> None:
            before = time.perf_counter()
            work()
            took[name] = time.perf_counter() - before

        timed("plan", lambda: h.plan_forget([usual[0].session_id]))
        timed("forget", lambda: h.forget([usual[0].session_id]))
        for session in usual[1:]:
            (path,) = Path(root).rglob(f"{session.session_id}.jsonl")
            own = path.read_bytes()
            path.unlink()  # it is a hard link of the generated history
            path.write_bytes(own)
            add_line(str(path), _TOKEN)
            os.utime(path, (1_700_000_000, 1_700_000_000))
        (Path(root) / "sessions").mkdir(exist_ok=True)  # as with clients that say where they run
        h.sync()
        h.scan_secrets()
        (secret,) = [one for one in h.secrets(limit=None).secrets if one.sessions == 2]
        timed("plan_secret", lambda: h.plan_forget(secrets=[secret.secret_id]))
        timed("scrub", lambda: h.scrub([usual[2].session_id]))
        h.scan_secrets()
        timed("forget_secret", lambda: h.forget(secrets=[secret.secret_id]))
    return took


CASES: dict[str, Callable[..., object]] = {
    "find-planted": find_planted,
    "scan-speed": scan_speed,
    "scan-store": scan_store,
    "scan-append": scan_append,
    "forget-one": forget_one,
}
