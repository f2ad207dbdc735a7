"""`hansard reconcile`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, BinaryIO

import click

from hansard.cli.context import SLOW_SECONDS, Command, Context, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.model.table import Column, Table
from hansard.model.tools import CLAUDE_CODE
from hansard.render.format import cost, dollars, many, model_name, short
from hansard.render.reports import data_words
from hansard.render.terminal.tables import draw_table, note_lines
from hansard.render.text import Paint, one_line, pad, width, wrap

if TYPE_CHECKING:
    from hansard.model.reconcile import (
        ClientCheck,
        ClientPart,
        Counted,
        CountingMethod,
        DifferenceStep,
        PeerCheck,
        Reconciliation,
    )

_WIDE = 100  # columns from which counts are written in full
_SHOWN = 8  # sessions and models that are listed
_AMOUNTS = 22  # columns of a cause's tokens and money
_CENT = Decimal("0.005")


@click.command(cls=Command)
@click.option(
    "--peer-json",
    "peer",
    type=click.File("rb"),
    metavar="FILE",
    help="Explain this JSON output of ccusage, agentsview or tokscale; - reads stdin.",
)
@reads
def reconcile(cli: Context, peer: BinaryIO | None) -> None:
    """Compare the total with what other tools count, and explain the difference.

    Compares with the sum of all lines, with the rules of ccusage, agentsview and tokscale, and with the client's own
    figures if it left any. Each difference is broken down by cause, in tokens and dollars; the causes add up to it.
    Sessions of Claude Code, Codex and OpenCode are compared, each client by itself; the other clients are named.

    Examples:
      hansard reconcile
      hansard reconcile --json
      ccusage daily --json --offline | hansard reconcile --peer-json -
      ccusage codex daily --json --offline | hansard reconcile --peer-json -
      agentsview usage daily --all --json > av.json && hansard reconcile --peer-json av.json
      tokscale models --json > models.json && hansard reconcile --peer-json models.json
    """
    given = peer.read() if peer is not None else None
    with cli.reading() as h:
        with BytesBar("Reading", after=SLOW_SECONDS) as bar:
            found = h.reconcile(peer=given, progress=bar)
        if found.damaged:
            warn(
                f"{many(found.damaged, 'damaged place was', 'damaged places were')} left out; `hansard verify` names them"
            )
        cli.answer(found, lambda: _page(found, cli.chart_width(), cli.paint()))


def _page(found: Reconciliation, columns: int, paint: Paint) -> Iterator[str]:
    is_only = not found.clients and not found.not_compared
    if found.lines or is_only:
        yield from _claude(found, columns, paint, is_only=is_only)
    for part in found.clients:
        yield from _client(part, columns, paint)
    if found.peer is not None:
        if not is_only:
            heading = found.peer.tool + (f": {', '.join(found.peer.clients)}" if found.peer.clients else "")
            yield from _table(heading, _peer_rows(found.peer, columns), columns, paint)
            yield ""
        yield from _peer(found.peer, columns, paint)
    told = [("Prices:", data_words(found.pricing.data))]
    for other in found.not_compared:
        messages = other.ours.messages or 0
        used = f"{many(other.sessions, 'session')}, {many(messages, 'message')}" if messages else "no usage recorded"
        told.append(("-", f"{other.client} is not compared: {used}"))
    yield from note_lines(told, columns, paint)


def _claude(found: Reconciliation, columns: int, paint: Paint, *, is_only: bool) -> Iterator[str]:
    ways = [way for way in found.ways if not is_only or found.peer is None or way.name != found.peer.tool]
    rows = [_row("Hansard", found.ours, None, columns, lower_bound=found.lower_bound_messages > 0)]
    rows += [_row(way.title, way.total, way.compared, columns) for way in ways]
    if is_only and found.peer is not None:
        rows += _peer_rows(found.peer, columns)
    yield from _table("" if is_only else CLAUDE_CODE, rows, columns, paint)
    yield ""
    for way in ways:
        yield from _way(way, columns, paint)
        if way.name == "cost-state" and found.client is not None:
            yield from _sessions(found.client, columns, paint)
    told = []
    if found.lower_bound_messages:
        least = (
            f"{found.lower_bound_messages:,} of {found.ours.messages:,} messages have no final usage record: their"
            f" {found.lower_bound_output_tokens:,} output tokens are a lower bound for every tool"
        )
        told.append(("+", least))
    if found.progress_only_messages:
        only = f"{many(found.progress_only_messages, 'message')} of subagents whose transcripts are gone: counted from progress records"
        told.append(("-", only))
    yield from note_lines([*told, *_facts(found)], columns, paint)
    yield ""


def _client(part: ClientPart, columns: int, paint: Paint) -> Iterator[str]:
    rows = [_row("Hansard", part.ours, None, columns, lower_bound=part.lower_bound_messages > 0)]
    rows += [_row(way.title, way.total, way.compared, columns) for way in part.ways]
    yield from _table(part.client, rows, columns, paint)
    yield ""
    for way in part.ways:
        yield from _way(way, columns, paint)
    lower = f"{part.lower_bound_messages:,} of {part.ours.messages:,} messages are lower bounds"
    told = [("+", lower)] if part.lower_bound_messages else []
    yield from note_lines([*told, *_facts(part)], columns, paint)
    yield ""


def _facts(part: Reconciliation | ClientPart) -> Iterator[tuple[str, str]]:
    if part.unpriced_models:
        yield "?", f"no price is known for {', '.join(part.unpriced_models)}"
    yield "-", f"{many(part.lines, 'line')} with usage in {many(part.transcripts, 'transcript')}"


# -- the table


def _table(client: str, rows: list[tuple[str, ...]], columns: int, paint: Paint) -> list[str]:
    heads = (
        Column(client.upper(), least=20),
        Column("MESSAGES", right=True, rank=3),
        Column("INPUT", right=True, rank=1),
        Column("OUTPUT", right=True),
        Column("CACHE READ", right=True),
        Column("WRITTEN", right=True),
        Column("COST", right=True),
        Column("DIFFERENCE", right=True),
    )
    return draw_table(Table(heads, rows, styles={0: "bold"}), columns, paint)


def _peer_rows(peer: PeerCheck, columns: int) -> list[tuple[str, ...]]:
    way = peer.simulated
    return [
        _row(f"{way.title}, simulated", way.total, way.compared, columns),
        _row(f"{peer.tool}'s own output", peer.stated, way.compared, columns),
    ]


def _row(
    name: str, counted: Counted, compared: Counted | None, columns: int, *, lower_bound: bool = False
) -> tuple[str, ...]:
    def told(count: int | None) -> str:
        if count is None:
            return "-"
        return f"{count:,}" if columns >= _WIDE else short(count)

    return (
        one_line(name),
        told(counted.messages),
        told(counted.input_tokens),
        told(counted.output_tokens),
        told(counted.cache_read_tokens),
        told(counted.cache_write_tokens),
        cost(_known(counted), lower_bound=lower_bound, unpriced=counted.unpriced_messages > 0),
        "" if compared is None else _share(counted, compared),
    )


def _known(counted: Counted) -> Decimal | None:
    """The cost, or None if nothing has a price."""
    return None if counted.unpriced_messages and not counted.cost_usd else counted.cost_usd


def _share(counted: Counted, compared: Counted) -> str:
    """The difference in cost in per cent; in tokens if there is no cost."""
    mine, theirs = _known(compared), _known(counted)
    if theirs is not None and mine:
        share = (theirs / mine - 1) * 100
    elif compared.tokens:
        share = Decimal(counted.tokens) / compared.tokens * 100 - 100
    else:
        return ""
    return "0 %" if abs(share) < _CENT else f"{share:+,.1f} %" if abs(share) >= _CENT * 10 else f"{share:+.2f} %"


# -- the causes


def _way(way: CountingMethod, columns: int, paint: Paint) -> Iterator[str]:
    yield from _headed(way.title, way.rule, columns, paint)
    if way.steps:
        for step in way.steps:
            yield from _cause(step, columns)
    else:
        yield "  the same as Hansard, here"
    for text in way.notes:
        yield from _said(text, columns, paint)
    yield ""


def _headed(title: str, rule: str, columns: int, paint: Paint) -> Iterator[str]:
    first, *others = wrap(f"{one_line(title)}: {one_line(rule)}", columns)
    head = first[: len(title)]
    yield paint(head, "bold") + paint(first[len(head) :], "dim")
    yield from (paint(line, "dim") for line in others)


def _cause(step: DifferenceStep, columns: int) -> Iterator[str]:
    amount = step.amount
    messages = amount.messages
    about = one_line(step.about) + (f" ({messages:+,} message{'s' * (abs(messages) != 1)})" if messages else "")
    lines = wrap(about, max(24, columns - _AMOUNTS - 4))
    figures = pad(_signed(amount.tokens), 9, right=True) + pad(_money(amount.cost_usd), _AMOUNTS - 9, right=True)
    yield f"  {pad(lines[0], max(24, columns - _AMOUNTS - 2))}{figures}".rstrip()
    yield from (f"    {line}" for line in lines[1:])


def _signed(count: int) -> str:
    if not count:
        return ""
    return ("+" if count > 0 else "-") + short(abs(count))


def _money(amount: Decimal | None) -> str:
    if not amount:
        return ""
    if abs(amount) < _CENT * 2:
        return ("+" if amount > 0 else "-") + "<$0.01"
    return ("+" if amount > 0 else "") + dollars(amount)


def _said(text: str, columns: int, paint: Paint) -> Iterator[str]:
    yield from (paint(f"  {line}", "dim") for line in wrap(one_line(text), max(20, columns - 2)))


def _sessions(client: ClientCheck, columns: int, paint: Paint) -> Iterator[str]:
    """The sessions whose figures differ from the client's, the largest difference first."""
    listed = sorted(client.differing, key=lambda item: (-abs(item.difference.tokens), item.session_id, item.model))
    if not listed:
        return
    rows = [
        (
            one_line(item.session_id)[:8],
            model_name(item.model),
            f"client {short(item.stated.tokens)}, transcripts {short(item.shown.tokens)}",
            _signed(item.difference.tokens),
            _money(item.difference.cost_usd),
        )
        for item in listed[:_SHOWN]
    ]
    heads = (
        Column("", style="cyan"),
        Column("", least=8),
        Column("", least=12, rank=1),
        Column("", right=True),
        Column("", right=True),
    )
    yield from draw_table(Table(heads, rows), columns, paint, header=False, indent="  ")
    if len(listed) > _SHOWN:
        yield from _said(f"and {len(listed) - _SHOWN:,} more; --json lists them all", columns, paint)
    yield ""


def _peer(peer: PeerCheck, columns: int, paint: Paint) -> Iterator[str]:
    way = peer.simulated
    yield from _headed(
        f"{peer.tool}'s own output ({one_line(peer.report)})", f"as {way.title}: {way.rule}", columns, paint
    )
    for step in way.steps:
        yield from _cause(step, columns)
    rest = peer.unexplained
    if not rest:
        yield "  nothing is left unexplained"
    else:
        classes = ", ".join(
            f"{count:+,} {name}"
            for name, count in (
                ("input", rest.input_tokens),
                ("output", rest.output_tokens),
                ("cache read", rest.cache_read_tokens),
                ("cache written", rest.cache_write_tokens),
            )
            if count
        )
        parts = [part for part in (classes, _money(rest.cost_usd)) if part]
        yield from (
            paint(f"  {line}", "yellow") for line in wrap(f"left unexplained: {', '.join(parts)}", max(20, columns - 2))
        )
        for item in peer.models[:_SHOWN]:
            left = item.unexplained
            words = f"{model_name(item.model)}: {_signed(left.tokens) or 'no'} tokens {_money(left.cost_usd)}".rstrip()
            yield f"    {words}" if width(words) <= columns - 4 else f"    {words[: columns - 5]}…"
    for text in peer.notes:
        yield from _said(text, columns, paint)
    yield ""
