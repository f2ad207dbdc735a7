"""`python -m benchmarks`: measure the budgets as ratios within one run, and print them in one table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import (
    clients,
    data,
    hooks,
    lake,
    ledger,
    reading,
    reports,
    repository,
    search_cases,
    secret_cases,
    sql_cases,
    statusline,
    sync_cases,
    team,
    tui,
    web,
)
from benchmarks.measure import Failed, child, cli, environment, has_command, run
from benchmarks.peers import Peers
from benchmarks.table import Figure, Section, format_table

_PARTS = (
    "public",
    "bulk",
    "search",
    "ledger",
    "reports",
    "sql",
    "statusline",
    "hooks",
    "reading",
    "web",
    "tui",
    "git",
    "guard",
    "lake",
    "team",
    "clients",
)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 1 << 30}


def read_size(text: str) -> int:
    """A number of bytes from 200M, 1G or digits."""
    given = re.fullmatch(r"(\d+)([kmg]?)b?", text.lower())
    if given is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size: say 1G, 200M or a number of bytes")
    return int(given[1]) * _UNITS[given[2]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=_PARTS, help="measure this part alone")
    parser.add_argument(
        "--runs", type=int, default=3, metavar="N", help="how often each thing is measured; the median counts (3)"
    )
    parser.add_argument(
        "--blocks",
        type=int,
        default=1_000_000,
        metavar="N",
        help="of the generated history that is searched (1000000)",
    )
    parser.add_argument(
        "--rows", type=int, default=1_000_000, metavar="N", help="of API messages in the ledger that is asked (1000000)"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="ask the stores of the last run of search, ledger, reports and sql instead of new ones",
    )
    parser.add_argument("--size", type=read_size, default=data.GIB, help="of the generated history: 200M, 1G (1G)")
    parser.add_argument("--idle", type=float, default=8, metavar="SECONDS", help="how long `watch` is watched (8)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value there too")
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()) / "hansard-benchmarks",
        metavar="DIR",
        help="where histories and stores are kept; about 4 times --size (%(default)s)",
    )
    parser.add_argument(
        "--peers",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="DIR",
        help="compare with others, installed there (SCRATCH/peers)",
    )
    return parser.parse_args()


def tell(text: str) -> None:
    """Say on stderr what is going on."""
    print(f"· {text}", file=sys.stderr, flush=True)


def _machine(scratch: Path) -> dict[str, str]:
    found = run(child("versions"), environment(scratch / "home")).answer
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()),
        "load before": load,
        "python": platform.python_version(),
        "sqlite": found["sqlite"],
        "apsw": found["apsw"],
    }


def _warm_up(scratch: Path, only: str | None) -> None:
    """Sync a small history and start every command once, so that all modules are compiled and on hand."""
    root = data.dense(scratch, 2000) if only == "search" else data.bulk(scratch, 60_000_000)
    store, env = scratch / "warm-up", environment(scratch / "home")
    shutil.rmtree(store, ignore_errors=True)
    run(child("sync", store, root), env)
    if has_command(scratch / "home", "sync", "--help"):
        place = {"HANSARD_HOME": str(store), "CLAUDE_CONFIG_DIR": str(root)}
        run(cli("sync"), {**env, **place})
        if has_command(scratch / "home", "search", "--help"):
            run(cli("search", "the"), {**env, **place}, codes=(0, 1))
        if has_command(scratch / "home", "usage", "--help"):
            run(cli("usage", "--json"), {**env, **place})


def _section(name: str, options: argparse.Namespace, peers: Peers | None) -> Section:
    scratch: Path = options.scratch
    try:
        tell(f"{name}: preparing")
        source = data.public(scratch) if name == "public" else data.bulk(scratch, options.size)
    except Failed as reason:
        return Section(name, notes=(str(reason),))
    dataset = data.working_copy(name, source, scratch / "history")
    cases = sync_cases.SyncCases(dataset, scratch, options.runs, options.idle, lambda text: tell(f"{name}: {text}"))
    title = dataset.title
    figures, notes = _collect(cases.figures())
    if peers is not None:
        more, words = _collect(peers.figures(dataset, options.runs, cases.cold_seconds))
        figures, notes = figures + more, notes + words
    return Section(title, figures, notes)


def _search(options: argparse.Namespace, peers: Peers | None) -> Section:
    scratch: Path = options.scratch
    tell("search: preparing")
    dataset = data.in_place("search", data.dense(scratch, options.blocks))
    cases = search_cases.SearchCases(dataset, scratch, options.runs, lambda text: tell(f"search: {text}"))
    sources = [cases.prepare(keep=options.keep), *cases.parts()]
    if peers is not None:
        sources.append(peers.search(dataset, cases))
    parts = [_collect(source) for source in sources]
    return Section(dataset.title, sum((figures for figures, _ in parts), ()), sum((notes for _, notes in parts), ()))


def _team(options: argparse.Namespace) -> Section:
    dataset = data.in_place("team", data.dense(options.scratch, options.blocks))
    cases = search_cases.SearchCases(dataset, options.scratch, options.runs, lambda text: tell(f"team: {text}"))
    found = team.TeamCases(cases, lambda text: tell(f"team: {text}")).figures(keep=options.keep)
    return Section(f"{team.TITLE}, {dataset.title}", *_collect(found))


def _ledger(options: argparse.Namespace, peers: Peers | None) -> list[Section]:
    scratch: Path = options.scratch

    def say(text: str) -> None:
        tell(f"ledger: {text}")

    say("preparing")
    cases = ledger.LedgerCases(scratch, data.metered(scratch, options.rows), options.runs, say, keep=options.keep)
    parts = [_collect(source) for source in cases.parts()]
    own = Section(
        cases.dataset.title, sum((figures for figures, _ in parts), ()), sum((notes for _, notes in parts), ())
    )
    daily = ledger.Daily(scratch, data.bulk(scratch, options.size), options.runs, say, peers, keep=options.keep)
    return [own, Section(daily.dataset.title, *_collect(daily.figures()))]


def _reports(options: argparse.Namespace) -> Section:
    scratch: Path = options.scratch
    tell("reports: preparing")
    source = data.bulk(scratch, options.size)
    cases = reports.Reports(scratch, source, options.runs, lambda text: tell(f"reports: {text}"), keep=options.keep)
    return Section(cases.dataset.title, *_collect(cases.figures()))


def _sql(options: argparse.Namespace) -> Section:
    scratch: Path = options.scratch
    tell("sql: preparing")
    source = data.metered(scratch, options.rows)
    cases = sql_cases.SqlCases(scratch, source, options.runs, lambda text: tell(f"sql: {text}"), keep=options.keep)
    return Section(cases.dataset.title, *_collect(cases.figures()))


def _reading(options: argparse.Namespace, peers: Peers | None) -> list[Section]:
    scratch: Path = options.scratch

    def say(text: str) -> None:
        tell(f"reading: {text}")

    say("preparing")
    try:
        exports = reading.Exports(scratch, data.public(scratch), options.runs, say, peers)
        first = Section(exports.dataset.title, *_collect(exports.figures()))
    except Failed as reason:
        first = Section("reading, public", notes=(str(reason),))
    long = reading.LongSession(scratch, options.runs, say)
    parts = [_collect(source) for source in long.parts()]
    second = Section(
        long.dataset.title, sum((figures for figures, _ in parts), ()), sum((notes for _, notes in parts), ())
    )
    return [first, second]


def _lake(options: argparse.Namespace) -> Section:
    scratch: Path = options.scratch

    def say(text: str) -> None:
        tell(f"lake: {text}")

    say("preparing")
    cases = lake.LakeCases(scratch, options.size, options.rows, options.runs, say)
    parts = [_collect(source) for source in cases.parts()]
    notes = sum((notes for _, notes in parts), ())
    return Section(f"{cases.dataset.title}; {cases.ledger.title}", sum((found for found, _ in parts), ()), notes)


def _collect(source: Iterator[Figure]) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Take figures as far as they come."""
    figures = []
    try:
        for figure in source:
            figures.append(figure)  # noqa: PERF402 - what came before a failure counts
    except Failed as reason:
        first, *more = str(reason).splitlines()
        return tuple(figures), (f"{first} … {more[-1]}" if more else first,)
    return tuple(figures), ()


def _web(options: argparse.Namespace, peers: Peers | None) -> Section:
    try:
        cases = web.Web(options.scratch, options.size, lambda text: tell(f"web: {text}"), peers)
    except Failed as reason:
        return Section(web.TITLE, notes=(str(reason),))
    parts = [_collect(source) for source in cases.parts()]
    title = f"{cases.dataset.title}, and a session of 50,000 records"
    return Section(title, sum((figures for figures, _ in parts), ()), sum((notes for _, notes in parts), ()))


def _tui(options: argparse.Namespace) -> Section:
    try:
        cases = tui.App(options.scratch, options.size, lambda text: tell(f"tui: {text}"))
    except Failed as reason:
        return Section(tui.TITLE, notes=(str(reason),))
    parts = [_collect(source) for source in cases.parts()]
    title = f"{cases.dataset.title}, and a session of 50,000 records"
    return Section(title, sum((figures for figures, _ in parts), ()), sum((notes for _, notes in parts), ()))


def main() -> None:
    """Measure what the options ask for."""
    options = _options()
    scratch = options.scratch = options.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    tell("warming up")
    machine = _machine(scratch)
    _warm_up(scratch, options.only)
    peers = None
    if options.peers is not None:
        peers = Peers(scratch / "peers" if options.peers == Path() else options.peers.resolve(), tell)
        try:
            peers.install()
            machine |= peers.versions()
        except Failed as reason:
            tell(f"without peers: {reason}")
            peers = None
    sections = []
    for name in [options.only] if options.only else _PARTS:
        if name == "ledger":
            sections += _ledger(options, peers)
        elif name == "reports":
            sections.append(_reports(options))
        elif name == "sql":
            sections.append(_sql(options))
        elif name == "statusline":
            sections.append(Section(statusline.TITLE, *_collect(statusline.figures(scratch, tell))))
        elif name == "hooks":
            sections.append(Section(hooks.TITLE, *_collect(hooks.figures(scratch, tell))))
        elif name == "reading":
            sections += _reading(options, peers)
        elif name == "web":
            sections.append(_web(options, peers))
        elif name == "tui":
            sections.append(_tui(options))
        elif name == "guard":
            program = peers.betterleaks if peers is not None else None
            found = secret_cases.figures(scratch, options.size, tell, program)
            sections.append(Section(secret_cases.TITLE, *_collect(found)))
        elif name == "lake":
            sections.append(_lake(options))
        elif name == "team":
            sections.append(_team(options))
        elif name == "clients":
            sections.append(Section(clients.TITLE, *_collect(clients.figures(scratch, options.runs, tell))))
        elif name == "git":
            sections.append(Section(repository.TITLE, *_collect(repository.figures(scratch, options.runs, tell))))
        else:
            sections.append(_search(options, peers) if name == "search" else _section(name, options, peers))
    if options.only in (None, "public", "bulk"):
        line, line_notes = _collect(sync_cases.long_line(scratch, tell))
        start, start_notes = _collect(sync_cases.start_up(scratch, tell))
        sections.append(Section("any history", line + start, line_notes + start_notes))
    print(", ".join(f"{name}: {value}" for name, value in machine.items()))
    print(format_table(sections))
    if options.json:
        document = {"machine": machine, "runs": options.runs, "sections": [section.as_json() for section in sections]}
        options.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Failed as reason:
        sys.exit(str(reason))
