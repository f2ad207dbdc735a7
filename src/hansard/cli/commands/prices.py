"""`hansard prices`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.context import Command, Context, none_found, reads
from hansard.errors import StoreBusy, UsageError
from hansard.model.table import Column, Table
from hansard.render.format import many, model_name
from hansard.render.reports import PRICED, data_words, grouped, price, prompt_size, rate_cells
from hansard.render.terminal.tables import draw_table, note_lines
from hansard.render.text import Paint, one_line, wrap

if TYPE_CHECKING:
    from hansard.model.ledger import PriceData, Rate, UsageRow

_COLUMNS = (
    Column("MODEL", least=16),
    Column("FOR", least=12),
    Column("FROM"),
    Column("UNTIL", rank=4),
    Column("PROMPT"),
    Column("INPUT", right=True),
    Column("OUTPUT", right=True),
    Column("READ", right=True, rank=1),
    Column("WRITE 5M", right=True, rank=2),
    Column("1H", right=True, rank=3),
    Column("SEARCH", right=True, rank=5),
    Column("PRICED AS", least=12, rank=7, style="dim"),
    Column("SOURCE", least=12, rank=6, style="dim"),
)
_REDUNDANT = 6  # ranks of columns that repeat the lines below the table
_CHANGES = 20


@click.command(cls=Command)
@click.argument("text", metavar="[TEXT|update]", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="List every tier, speed and region separately, even at equal prices."
)
@click.option("--from", "url", metavar="URL", help="With update: fetch from this URL or file, in the same format.")
@reads
def prices(cli: Context, text: str | None, everything: bool, url: str | None) -> None:
    """Show the dated prices in use for the models of the history, or fetch new ones; TEXT is part of a model's name.

    Dollars per million tokens: input, output, cache reads, cache writes for 5 minutes and for 1 hour; per thousand web searches.
    Only `prices update` uses the network; it prices everything again at the new rates.

    Examples:
      hansard prices
      hansard prices opus
      hansard prices update
      hansard prices --json
    """
    if text == "update":
        _update(cli, url, everything=everything)
        return
    if url is not None:
        raise UsageError("--from can only be used with `hansard prices update`")
    with cli.reading() as h:
        rates = h.rates()
        data = h.price_data()
    if text:
        wanted = text.lower()
        rates = [rate for rate in rates if wanted in rate.model.lower() or wanted in (rate.priced_as or "").lower()]
    if cli.as_json:
        cli.emit({"rates": rates, "data": data})
    elif rates:
        cli.say(_lines(cli, rates, data, everything=everything))
    if not rates:
        none_found(
            f"no model matches {text!r}; `hansard prices` lists them" if text else "no session has used a model yet"
        )


# -- the list


def _lines(cli: Context, rates: Sequence[Rate], data: PriceData, *, everything: bool) -> Iterator[str]:
    columns, paint = cli.width(), cli.paint()
    priced = [rate for rate in rates if rate.is_priced]
    unpriced = list(dict.fromkeys(rate.model for rate in rates if not rate.is_priced))
    if priced:
        yield from _table(list(grouped(priced, everything=everything)), columns, paint)
        yield ""
    if unpriced:
        yield from _unpriced(unpriced, columns, paint)
        yield ""
    said: dict[str, dict[str, None]] = {}
    for rate in priced:
        for text in rate.notes:
            said.setdefault(text, {})[model_name(rate.model)] = None
    notes = [("-", f"{', '.join(models)}: {text}") for text, models in said.items()]
    yield from note_lines([("Prices:", data_words(data)), *notes], columns, paint)


def _table(rows: Sequence[tuple[str, Rate]], columns: int, paint: Paint) -> list[str]:
    models = list(dict.fromkeys(rate.model for _, rate in rows))
    full, brief = ([name(model) or "(no name)" for model in models] for name in (one_line, model_name))
    lines: list[str] = []
    for names in (full, brief):
        called = dict(zip(models, names, strict=True))
        cells = [(called[rate.model], kind, *rate_cells(rate), rate.priced_as, rate.source) for kind, rate in rows]
        # Leave out empty columns.
        shown = [place for place, column in enumerate(_COLUMNS) if any(row[place] for row in cells)]
        chosen = [_COLUMNS[place] for place in shown]
        lines = draw_table(Table(chosen, [[row[place] for place in shown] for row in cells]), columns, paint)
        is_whole = all(column.title in lines[0] for column in chosen if column.rank < _REDUNDANT)
        if is_whole or len(set(brief)) < len(models):
            break  # else try names without maker and date, which leave more room for prices
    return lines


def _unpriced(models: Sequence[str], columns: int, paint: Paint) -> Iterator[str]:
    import json

    from hansard.directories import config_path

    names = ", ".join(one_line(model) or "(no name)" for model in models)
    yield from (paint(line, "yellow") for line in wrap(f"Without a price: {names}", columns))
    yield from wrap(
        f"Their tokens are counted, but not in any cost. To set a price, add this to {config_path()}:", columns
    )
    yield ""
    # A JSON string is a TOML string, except for characters that clean text does not have.
    named = next(filter(None, map(one_line, models)), "name-of-the-model")
    example = [
        "[[prices]]",
        f"model = {json.dumps(named, ensure_ascii=False)}",
        "input = 3.00    # dollars per million tokens",
        "output = 15.00",
    ]
    yield from (f"  {line}" for line in example)


# -- the update


def _update(cli: Context, url: str | None, *, everything: bool) -> None:
    cli.must_sync("prices update")
    if everything:
        raise UsageError("--all cannot be used with prices update")
    with cli.reading() as h:
        before, total_before = h.rates(), h.usage(by="total").totals
        data = h.update_prices(url)
        if (report := cli.bring_up_to_date(h)) is None or report.busy:
            raise StoreBusy("the new prices were fetched but not applied yet: run `hansard sync`")
        after, total_after = h.rates(), h.usage(by="total").totals
    changes = list(dict.fromkeys(_changes(before, after)))
    if cli.as_json:
        cli.emit(
            {
                "data": data,
                "rates": len(after),
                "changes": [{"model": model, "change": change} for model, change in changes],
                "cost_before_usd": total_before.cost_usd,
                "cost_after_usd": total_after.cost_usd,
                "unpriced_models": total_after.unpriced_models,
            }
        )
    else:
        cli.say(_told(data, changes, total_before, total_after, cli.width()))


def _told(
    data: PriceData, changes: Sequence[tuple[str, str]], before: UsageRow, after: UsageRow, columns: int
) -> Iterator[str]:
    from hansard.render.format import row_cost

    yield from wrap(f"Fetched {data_words(data)}", columns)
    if not changes:
        yield "Nothing changed for the models of this history."
    else:
        yield f"{many(len(changes), 'change')} for the models of this history:"
        for model, change in changes[:_CHANGES]:
            yield from (f"  {line}" for line in wrap(f"{model_name(model)}: {change}", max(20, columns - 2)))
        if len(changes) > _CHANGES:
            yield f"  and {len(changes) - _CHANGES:,} more"
    yield f"Total: {row_cost(before)} before, {row_cost(after)} now"
    if after.unpriced_models:
        names = ", ".join(map(one_line, after.unpriced_models))
        yield from wrap(f"Still without a price: {names}", columns)


def _changes(before: Sequence[Rate], after: Sequence[Rate]) -> Iterator[tuple[str, str]]:
    """How the rates differ, in words; a model has one rate for every time, size, tier, speed and place."""
    was, now = ({_place(rate): rate for rate in rates} for rates in (before, after))
    for place in dict.fromkeys((*was, *now)):
        old, new = was.get(place), now.get(place)
        rate = new or old
        if rate is None:
            continue
        where = " ".join(filter(None, (prompt_size(rate), f"from {rate.since:%Y-%m-%d}" if rate.since else "")))
        words = f"{where}: " if where else ""
        if old is None or new is None:
            yield rate.model, f"{words}{'new' if old is None else 'gone'} ({_summary(rate)})"
        elif _amounts(old) != _amounts(new):
            yield rate.model, f"{words}{_summary(old)} becomes {_summary(new)}"


def _place(rate: Rate) -> tuple[Any, ...]:
    return (
        rate.model,
        rate.service_tier,
        rate.speed,
        rate.inference_geo,
        rate.since,
        rate.until,
        rate.above,
        rate.upto,
    )


def _amounts(rate: Rate) -> tuple[Decimal | None, ...]:
    return tuple(getattr(rate, name) for name in PRICED)


def _summary(rate: Rate) -> str:
    return "no price" if rate.input is None else f"input {price(rate.input)}, output {price(rate.output)}"
