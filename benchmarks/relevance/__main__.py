"""`python -m benchmarks.relevance --home DIR`: known-item relevance of search on a synced history."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import hansard
from benchmarks.relevance.scores import DEPTH, Answer, Miss, Relevance, Score, measure
from hansard.model.serialize import json_bytes
from hansard.model.table import Column, Table
from hansard.render.terminal.tables import draw_table
from hansard.render.text import Paint, one_line

_SCORES = (
    Column("QUESTIONS", least=12),
    Column("", right=True),
    Column("HIT@1", right=True, rank=2),
    Column("HIT@10", right=True),
    Column("MRR", right=True, rank=1),
    Column("SESSION @1", right=True, rank=4),
    Column("@10", right=True, rank=3),
    Column("MRR", right=True, rank=5),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, score, and print; 1 when the history has no text to make questions from."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance", description=__doc__)
    parser.add_argument("--home", required=True, metavar="DIR", help="the data directory of a synced history")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="questions per class (100)")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="seed for choosing the questions (7)")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="also print this many unanswered questions")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    options = parser.parse_args(arguments)
    with hansard.open(options.home) as h:
        found = measure_engine(h, sample=options.sample, seed=options.seed, misses=options.misses)
    if not found.overall.queries:
        print("the history has no text to make questions from", file=sys.stderr)
        return 1
    if options.json:
        print(json_bytes(found).decode())
        return 0
    rows = [_row(score) for score in (*found.classes, found.overall)]
    print("\n".join([*draw_table(Table(_SCORES, rows), 100, Paint(enabled=False)), *_describe(found.misses)]))
    return 0


def measure_engine(h: hansard.Hansard, *, sample: int, seed: int, misses: int = 0) -> Relevance:
    """The scores of an engine's own search."""

    def ask(query: str) -> Answer:
        sessions = h.search(query, limit=DEPTH, group=True).sessions
        return Answer(h.search(query, limit=DEPTH).hits, sessions)

    return measure(h.reader, h.record, ask, sample=sample, seed=seed, misses=misses)


def _row(score: Score) -> tuple[str, ...]:
    figures = (score.hit_1, score.hit_10, score.mrr, score.session_hit_1, score.session_hit_10, score.session_mrr)
    return score.kind, f"{score.queries:,}", *(f"{figure:.3f}" for figure in figures)


def _describe(misses: tuple[Miss, ...]) -> Iterator[str]:
    for miss in misses:
        rank = f"; its session is number {miss.session_rank}" if miss.session_rank else ""
        place = (
            f"{one_line(miss.transcript)} at {miss.offset}"
            if miss.transcript
            else f"session {one_line(miss.session_id)}"
        )
        yield ""
        yield f"{miss.kind}: {one_line(miss.query)}"
        yield f"  expected  {one_line(miss.passage)}"
        yield f"            {place}{rank}"
        yield f"  first     {one_line(miss.first) or '(nothing was found)'}"


if __name__ == "__main__":
    sys.exit(main())
