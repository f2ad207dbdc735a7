"""Tokens and money: reports, blocks, budgets, prices, and what a figure consists of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.structs import replace

from hansard.model.explain import Explanation
from hansard.model.ledger import BillingBlock, Budget, PriceData, Pricing, Rate, UsageReport
from hansard.model.requests import DIMENSIONS, MODES, USAGE_SORTS
from hansard.model.serialize import plain
from hansard.model.sessions import Activity
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import (
    MODEL,
    PROJECT,
    QUERY,
    SINCE,
    TIMEZONE,
    UNTIL,
    Choice,
    ChoiceList,
    Flag,
    Number,
    RepeatedText,
    Text,
    sort_order,
)

_COUNTED = (QUERY, PROJECT, MODEL, SINCE, UNTIL, TIMEZONE)
_MODE = Choice("mode", "How cost is computed.", tuple(MODES), "auto")


class UsageAnswer(UsageReport, frozen=True):
    """Rows that add up to the totals, as many as were asked for."""

    budgets: list[Budget] | UnsetType = UNSET
    rows_left_out: int | UnsetType = UNSET


class BlockOfModels(BillingBlock, frozen=True, kw_only=True):
    """A block and the models that were used in it."""

    models: list[str]


class BlocksAnswer(Struct, frozen=True):
    """Blocks in order, as many as were asked for, at which prices."""

    blocks: list[BlockOfModels]
    pricing: Pricing
    blocks_left_out: int | UnsetType = UNSET


def _usage(call: Call) -> dict[str, Any]:
    given = call.given
    report = call.h.usage(
        given["q"],
        **call.conditions,
        timezone=call.timezone,
        by=given["by"],
        mode=given["mode"],
        breakdown=given["breakdown"],
        work=given["work"],
        sort=given["sort"],
        ascending=call.ascending,
    )
    left_out = max(0, len(report.rows) - given["limit"])
    answer: dict[str, Any] = plain(replace(report, rows=report.rows[: given["limit"]]))
    if left_out:
        answer["rows_left_out"] = left_out
    if call.settings.limits:
        answer["budgets"] = call.h.budgets(call.settings.limits, timezone=call.timezone)
    return answer


def _blocks(call: Call) -> dict[str, Any]:
    now = datetime.now(UTC)
    found = call.h.blocks(call.given["q"], **call.conditions, timezone=call.timezone, now=now)
    rows = call.h.usage(
        call.given["q"], by=("block", "model"), sort="cost", **call.conditions, timezone=call.timezone, now=now
    ).rows
    models: dict[datetime, list[str]] = {}
    for row in rows:
        if (start := row.key["block"]) is not None:
            models.setdefault(datetime.fromisoformat(start), []).append(row.key["model"] or "")
    shown = [
        block
        for block in found.blocks
        if not (call.given["no_gaps"] and block.is_gap) and not (call.given["active"] and not block.is_active)
    ]
    left_out = max(0, len(shown) - call.given["limit"])
    answer: dict[str, Any] = {
        "blocks": [{**plain(block), "models": models.get(block.start, [])} for block in shown[left_out:]],
        "pricing": found.pricing,
    }
    if left_out:
        answer["blocks_left_out"] = left_out
    return answer


def _explain(call: Call) -> Explanation:
    given = call.given
    return call.h.explain(
        given["target"],
        given["q"],
        by=given["by"] or None,
        key=tuple(value or None for value in given["key"]),
        **call.conditions,
        timezone=call.timezone,
        mode=given["mode"],
        limit=given["limit"],
    )


def _budgets(call: Call) -> dict[str, Any]:
    return {"budgets": call.h.budgets(call.settings.limits, timezone=call.timezone)}


def _prices(call: Call) -> dict[str, Any]:
    wanted = (call.given["text"] or "").lower()
    rates = [
        rate for rate in call.h.rates() if wanted in rate.model.lower() or wanted in (rate.priced_as or "").lower()
    ]
    return {"rates": rates, "data": call.h.price_data()}


def _activity(call: Call) -> Activity:
    return call.h.activity(since=call.given["since"], until=call.given["until"])


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/usage",
        "Tokens and money by any dimension; the rows add up to the totals",
        _usage,
        UsageAnswer,
        parameters=(
            *_COUNTED,
            ChoiceList("by", "What to group rows by; several with commas.", tuple(DIMENSIONS), ("day",)),
            _MODE,
            Flag("breakdown", "Add each row's usage by model."),
            Flag("work", "Add tool calls, errors, time and changed lines."),
            *sort_order(tuple(USAGE_SORTS), None),
            Number("limit", "Maximum number of rows; totals are of all.", 1, 10_000, 1_000),
        ),
    ),
    Endpoint(
        "GET",
        "/api/blocks",
        "Five-hour blocks, the pauses between them, with a projection for the current one",
        _blocks,
        BlocksAnswer,
        parameters=(
            *_COUNTED,
            Flag("active", "Only the current one."),
            Flag("no_gaps", "Leave out the pauses."),
            Number("limit", "Maximum number, the latest.", 1, 10_000, 1_000),
        ),
    ),
    Endpoint(
        "GET",
        "/api/explain",
        "The messages, lines, rates and arithmetic behind a figure",
        _explain,
        Explanation,
        parameters=(
            Text("target", "A session, a time as reports show it, a message's id, or the uuid of a line."),
            *_COUNTED,
            ChoiceList("by", "The report that `key` is a row of.", tuple(DIMENSIONS)),
            RepeatedText("key", "The row's values in the order of `by`, one parameter each; empty means unknown."),
            _MODE,
            Number("limit", "Maximum number of messages, the most expensive first.", 1, 200, 20),
        ),
    ),
    Endpoint(
        "GET",
        "/api/budgets",
        "How much of each configured limit is spent",
        _budgets,
        defstruct("Budgets", [("budgets", list[Budget])]),
        parameters=(TIMEZONE,),
    ),
    Endpoint(
        "GET",
        "/api/prices",
        "The dated rates of the history's models, and where they come from",
        _prices,
        defstruct("Prices", [("rates", list[Rate]), ("data", PriceData)]),
        parameters=(Text("text", "Part of a model's name."),),
        steady=True,
    ),
    Endpoint(
        "GET",
        "/api/activity",
        "How much happened between two times",
        _activity,
        Activity,
        parameters=(SINCE, UNTIL),
    ),
)
