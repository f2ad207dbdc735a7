"""`hansard blocks`, and its view that redraws itself (`--live`)."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec import Struct
from msgspec.structs import replace

from hansard.cli.arguments import QueryCommand
from hansard.cli.context import Context, interrupted_by_sigterm, none_found, now, reads
from hansard.cli.request_options import (
    CSV,
    LEDGER_FILTERS,
    OFFLINE,
    filter_line,
    limit_option,
    takes,
    typed_query,
    zone_of,
)
from hansard.errors import StoreBusy, StoreUnusable, UsageError
from hansard.model.ledger import BillingBlock, Pricing
from hansard.model.requests import BlocksRequest, UsageRequest, same_for
from hansard.model.table import Column, Kind, Table
from hansard.model.time import BLOCK
from hansard.render.format import duration, many, model_name, short
from hansard.render.terminal.tables import draw_table, note_lines
from hansard.render.text import Paint, fit, one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.calendar import Zone


_RECENT = timedelta(days=3)
_BAR = 30
_NARROW = 50  # columns up to which years are left out
_COLUMNS = (
    Column("START"),
    Column("END"),
    Column("MESSAGES", Kind.ROUNDED, rank=2),
    Column("OUTPUT", Kind.ROUNDED, rank=3),
    Column("TOKENS", Kind.ROUNDED),
    Column("COST", Kind.COST),
    Column("MODELS", least=12, rank=1, style="dim"),
)


class _Selection(NamedTuple):
    """Which blocks to show."""

    recent: bool
    active: bool
    gaps: bool


class _Answer(Struct, frozen=True):
    """Blocks, and the models of each by its start."""

    blocks: tuple[BillingBlock, ...]
    pricing: Pricing
    models: dict[datetime, tuple[str, ...]]

    def as_plain(self) -> dict[str, Any]:
        """The blocks, each with its models."""
        from hansard.model.serialize import plain

        return {
            "blocks": [{**plain(block), "models": self.models.get(block.start, ())} for block in self.blocks],
            "pricing": self.pricing,
        }


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    BlocksRequest,
    LEDGER_FILTERS,
    click.option("--recent", is_flag=True, help="Only the last three days."),
    click.option("--active", is_flag=True, help="Only the current block."),
    click.option("--order", type=click.Choice(["asc", "desc"]), default="asc", help="Oldest or newest first."),
    click.option("--reverse", is_flag=True, help="Newest first, the same as --order desc."),
    limit_option(0, text="Show only the latest N blocks; 0 shows all."),
    click.option("--gaps/--no-gaps", default=True, help="Show or hide the gaps between blocks."),
    CSV,
    OFFLINE,
    click.option("--live", is_flag=True, help="Keep the recent blocks on screen, refreshed, until Ctrl-C."),
    click.option(
        "--interval",
        type=click.FloatRange(min=0.2),
        default=5,
        show_default=True,
        metavar="SECONDS",
        help="How often --live refreshes.",
    ),
)
@reads
def blocks(
    cli: Context,
    request: BlocksRequest,
    recent: bool,
    active: bool,
    order: str,
    reverse: bool,
    limit: int,
    gaps: bool,
    as_csv: bool,
    live: bool,
    interval: float,
) -> None:
    """Report five-hour blocks, as plan limits count them, with a projection for the current one.

    A block begins with the full hour (UTC) of its first message, and ends five hours later or after five hours of silence.

    Examples:
      hansard blocks --recent
      hansard blocks --active --json
      hansard blocks --since 2w --no-gaps
      hansard blocks --reverse -n 10
      hansard blocks --live
    """
    if cli.as_json and as_csv:
        raise UsageError("--json and --csv cannot be used together")
    if recent and request.since is not None:
        raise UsageError("--recent cannot be used with --since")
    zone = zone_of(request)
    chosen = _Selection(recent or (live and request.since is None), active, gaps)
    if live:
        if cli.as_json or as_csv or not is_terminal():
            raise UsageError("--live needs a terminal")
        with cli.reading() as h:
            show_live(cli, h, interval, lambda columns: _live(_ask(h, request, chosen), zone, columns, cli.paint()))
        return
    with cli.reading() as h:
        answer = _ask(h, request, chosen)
    answer = _arranged(answer, limit, newest_first=reverse or order == "desc")
    if cli.as_json:
        cli.emit(answer)
    elif as_csv:
        _write_csv(answer)
    elif answer.blocks:
        filters = filter_line(typed_query())
        cli.say([*_lines(answer, zone, cli.width(), cli.paint()), *map(one_line, filters)])
    if not any(not block.is_gap for block in answer.blocks):
        none_found("no active block" if active else "no usage matches")


def _ask(h: Hansard, request: BlocksRequest, chosen: _Selection) -> _Answer:
    moment = now()
    begin = moment - _RECENT
    request = replace(request, now=moment)
    if chosen.recent:
        # From a full hour, so that a block still running then is counted whole, from the sums.
        request = replace(request, since=(begin - BLOCK).replace(minute=0, second=0, microsecond=0))
    found = h.blocks(request)
    by_model = h.usage(same_for(UsageRequest, request, by=("block", "model"), sort="cost"))
    models: dict[datetime, tuple[str, ...]] = {}
    for row in by_model.rows:
        if (start := row.key["block"]) is not None:
            moment = datetime.fromisoformat(start)
            models[moment] = (*models.get(moment, ()), row.key["model"] or "")
    shown = [
        block
        for block in found.blocks
        if (chosen.gaps or not block.is_gap)
        and (not chosen.active or block.is_active)
        and (not chosen.recent or block.end > begin)
    ]
    return _Answer(tuple(shown), found.pricing, models)


def _arranged(answer: _Answer, limit: int, *, newest_first: bool) -> _Answer:
    """The latest blocks in the requested order, without a gap before the first."""
    blocks = answer.blocks
    if limit:
        starts = [number for number, block in enumerate(blocks) if not block.is_gap]
        blocks = blocks[starts[-limit] :] if len(starts) > limit else blocks
    return replace(answer, blocks=blocks[::-1] if newest_first else blocks)


# -- for people


def _lines(answer: _Answer, zone: Zone, columns: int, paint: Paint) -> Iterator[str]:
    from hansard.render.reports import data_words, row_notes

    yield from _table(answer, zone, columns, paint)
    for block in answer.blocks:
        if block.is_active:
            yield ""
            yield from _outlook(block, zone, columns, paint)
    yield ""
    rows = [block.usage for block in answer.blocks if block.usage is not None]
    yield from note_lines([("Prices:", data_words(answer.pricing.data)), *row_notes(rows)], columns, paint)


def _live(answer: _Answer, zone: Zone, columns: int, paint: Paint) -> Iterator[str]:
    """The most important first: the rest may not fit on the screen."""
    active = [block for block in answer.blocks if block.is_active]
    for block in active:
        yield from _outlook(block, zone, columns, paint)
    if not active:
        yield f"{zone.local(now()):%H:%M}  no active block: the next message starts one"
    if answer.blocks:
        yield ""
        header, *rows = _table(answer, zone, columns, paint)
        yield from (header, *reversed(rows))


def _table(answer: _Answer, zone: Zone, columns: int, paint: Paint) -> list[str]:
    """Blocks in order, the gaps between them as lines of their own."""
    from hansard.render.reports import gap_length, usage_cost

    blocks = sorted(answer.blocks, key=lambda block: block.start)
    start = "%Y-%m-%d %H:%M" if columns > _NARROW else "%m-%d %H:%M"
    used = [(block, block.usage) for block in blocks if block.usage is not None]
    rows = [
        (
            f"{zone.local(block.start):{start}}",
            "active" if block.is_active else f"{zone.local(block.end):%H:%M}",
            usage.api_messages,
            usage.output_tokens,
            usage.tokens,
            usage_cost(usage),
            ", ".join(model_name(model) or "-" for model in answer.models.get(block.start, ())),
        )
        for block, usage in used
    ]
    styles = {number: "bold" for number, (block, _) in enumerate(used) if block.is_active}
    header, *lines = draw_table(Table(_COLUMNS, rows, styles=styles), columns, paint)
    waiting = iter(lines)
    shown = [
        paint(fit("  {}-{} gap".format(*gap_length(blocks, number)), columns), "dim") if block.is_gap else next(waiting)
        for number, block in enumerate(blocks)
    ]
    return [header, *(shown if blocks[:1] == [*answer.blocks[:1]] else reversed(shown))]


def _outlook(block: BillingBlock, zone: Zone, columns: int, paint: Paint) -> Iterator[str]:
    from hansard.render.format import cost
    from hansard.render.terminal.costs import bar

    usage = block.usage
    if usage is None:
        return
    end = f"{zone.local(block.end):%H:%M}"
    left = duration((block.remaining_minutes or 0) * 60_000) if block.remaining_minutes else "less than a minute"
    room = max(5, min(_BAR, columns - 45))
    gone = bar((now() - block.start) / BLOCK, room)
    yield fit(f"{zone.local(block.start):%H:%M} {gone} {end}  {left} left", columns)
    lower, unpriced = usage.lower_bound_messages > 0, usage.unpriced_messages > 0
    spent = cost(usage.cost_usd, lower_bound=lower, unpriced=unpriced)
    yield fit(f"  so far    {spent}, {short(usage.tokens)} tokens in {many(usage.api_messages, 'message')}", columns)
    if block.burn_tokens_per_minute is None or block.projected_tokens is None:
        yield paint("  too early for a projection", "dim")
        return
    burn = f"{short(block.burn_tokens_per_minute)} tokens a minute"
    if block.burn_usd_per_hour is not None:
        rate = cost(block.burn_usd_per_hour, lower_bound=lower, unpriced=unpriced)
        burn = f"{rate} an hour, {burn}"
    yield fit(f"  rate      {burn}", columns)
    projected = cost(block.projected_usd, lower_bound=lower, unpriced=unpriced)
    yield fit(f"  projected {projected}, {short(block.projected_tokens)} tokens at {end}", columns)


# -- for spreadsheets


def _write_csv(answer: _Answer) -> None:
    from hansard.cli.output.pager import write_bytes
    from hansard.export.sheets import flat, records

    rows = []
    for block in answer.blocks:
        if block.usage is not None:
            usage = flat(block.usage)
            usage.pop("block", None)
            rows.append(
                {
                    "start": block.start,
                    "end": block.end,
                    "is_active": block.is_active,
                    "models": answer.models.get(block.start, ()),
                    **usage,
                    "burn_usd_per_hour": block.burn_usd_per_hour,
                    "burn_tokens_per_minute": block.burn_tokens_per_minute,
                    "projected_usd": block.projected_usd,
                    "projected_tokens": block.projected_tokens,
                    "remaining_minutes": block.remaining_minutes,
                }
            )
    write_bytes(records(rows, ("start", "end")))


_ENTER = "\x1b[?1049h\x1b[?25l"  # alternate screen, cursor hidden
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def is_terminal() -> bool:
    """Whether stdout is a terminal that can redraw."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show_live(cli: Context, h: Hansard, interval: float, draw: Callable[[int], Iterable[str]]) -> None:
    """Sync and redraw until Ctrl-C; `draw` gets the columns."""
    with _other_screen(), contextlib.suppress(KeyboardInterrupt):
        while True:
            trouble = "" if cli.no_sync else _sync(h)
            size = shutil.get_terminal_size()
            head = fit(trouble or f"every {interval:g} s, Ctrl-C stops", size.columns)
            lines = [cli.paint()(head, "yellow" if trouble else "dim"), "", *draw(size.columns)]
            _write(lines[: max(1, size.lines - 1)])
            time.sleep(interval)


def _write(lines: Iterable[str]) -> None:
    # One write per frame, and lines are overwritten before they are erased, so that nothing flickers.
    sys.stdout.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
    sys.stdout.flush()


def _sync(h: Hansard) -> str:
    """Sync; return an error to show in the frame, or an empty text."""
    try:
        report = h.sync(wait_seconds=0.2)
    except (StoreBusy, StoreUnusable) as error:
        return one_line(str(error))
    return "another process is syncing" if report.busy else ""


@contextlib.contextmanager
def _other_screen() -> Iterator[None]:
    """Use the alternate screen, and restore the terminal afterwards, also after SIGTERM."""
    with interrupted_by_sigterm():
        sys.stdout.write(_ENTER)
        try:
            yield
        finally:
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()
