"""Tokens and money: reports, blocks, budgets, prices, and what a figure consists of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.structs import replace

from hansard.model.explain import Explanation
from hansard.model.ledger import BillingBlock, Budget, PriceData, Pricing, Rate, UsageReport
from hansard.model.requests import (
    BlocksRequest,
    ExplainRequest,
    Timezone,
    UsageRequest,
    about,
    at_or_after,
    before,
    same_for,
)
from hansard.model.serialize import plain
from hansard.model.sessions import Activity
from hansard.web.api.endpoint import Call, Endpoint

_COUNTED = "query match project model since until timezone"


class UsageParameters(UsageRequest, frozen=True, kw_only=True):
    """A report with a limited number of rows."""

    limit: Annotated[int, about("Maximum number of rows; the totals cover all.", ge=1, le=10_000)] = 1_000


class BlocksParameters(BlocksRequest, frozen=True, kw_only=True):
    """The latest blocks."""

    active: Annotated[bool, about("Only the current one.")] = False
    no_gaps: Annotated[bool, about("Leave out the gaps.")] = False
    limit: Annotated[int, about("Maximum number, the latest.", ge=1, le=10_000)] = 1_000


class BudgetsRequest(Struct, frozen=True, kw_only=True):
    """All budgets."""

    timezone: Timezone = None


class PricesRequest(Struct, frozen=True, kw_only=True):
    """The rates of some models."""

    text: Annotated[str | None, about("Part of a model's name.")] = None


class ActivityRequest(Struct, frozen=True, kw_only=True):
    """What happened in a period."""

    since: Annotated[datetime | None, at_or_after()] = None
    until: Annotated[datetime | None, before()] = None


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
    request: UsageParameters = call.request
    report = call.h.usage(request)
    left_out = max(0, len(report.rows) - request.limit)
    answer: dict[str, Any] = plain(replace(report, rows=report.rows[: request.limit]))
    if left_out:
        answer["rows_left_out"] = left_out
    if call.settings.limits:
        answer["budgets"] = call.h.budgets(call.settings.limits, timezone=request.timezone)
    return answer


def _blocks(call: Call) -> dict[str, Any]:
    request: BlocksParameters = replace(call.request, now=datetime.now(UTC))
    found = call.h.blocks(request)
    models: dict[datetime, list[str]] = {}
    for row in call.h.usage(same_for(UsageRequest, request, by=("block", "model"), sort="cost")).rows:
        if (start := row.key["block"]) is not None:
            models.setdefault(datetime.fromisoformat(start), []).append(row.key["model"] or "")
    shown = [
        block
        for block in found.blocks
        if not (request.no_gaps and block.is_gap) and not (request.active and not block.is_active)
    ]
    left_out = max(0, len(shown) - request.limit)
    answer: dict[str, Any] = {
        "blocks": [{**plain(block), "models": models.get(block.start, [])} for block in shown[left_out:]],
        "pricing": found.pricing,
    }
    if left_out:
        answer["blocks_left_out"] = left_out
    return answer


def _prices(call: Call) -> dict[str, Any]:
    wanted = (call.request.text or "").lower()
    rates = [
        rate for rate in call.h.rates() if wanted in rate.model.lower() or wanted in (rate.priced_as or "").lower()
    ]
    return {"rates": rates, "data": call.h.price_data()}


ENDPOINTS = (
    Endpoint(
        "/api/usage",
        "Tokens and money by any dimension; the rows add up to the totals",
        _usage,
        UsageAnswer,
        UsageParameters,
        f"{_COUNTED} by mode breakdown work sort ascending limit",
    ),
    Endpoint(
        "/api/blocks",
        "Five-hour blocks and the gaps between them, with a projection for the current one",
        _blocks,
        BlocksAnswer,
        BlocksParameters,
        f"{_COUNTED} active no_gaps limit",
    ),
    Endpoint(
        "/api/explain",
        "The messages, lines, rates and arithmetic behind a figure",
        lambda call: call.h.explain(call.request),
        Explanation,
        ExplainRequest,
        f"target {_COUNTED} by key mode limit",
    ),
    Endpoint(
        "/api/budgets",
        "How much of each configured limit is spent",
        lambda call: {"budgets": call.h.budgets(call.settings.limits, timezone=call.request.timezone)},
        defstruct("Budgets", [("budgets", list[Budget])]),
        BudgetsRequest,
    ),
    Endpoint(
        "/api/prices",
        "The dated rates of the history's models, and where they come from",
        _prices,
        defstruct("Prices", [("rates", list[Rate]), ("data", PriceData)]),
        PricesRequest,
        has_etag=True,
    ),
    Endpoint(
        "/api/activity",
        "How much happened between two times",
        lambda call: call.h.activity(since=call.request.since, until=call.request.until),
        Activity,
        ActivityRequest,
    ),
)
