"""Where the money stands at a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from hansard.model.ledger import Budget


@dataclass(frozen=True, slots=True)
class CurrentTotal:
    """What some messages used and cost."""

    cost_usd: Decimal | None  # of what has a price; None where nothing has
    tokens: int  # of every class
    api_messages: int
    lower_bound_messages: int  # their output is only a lower bound
    unpriced_models: tuple[str, ...]  # what they did is not in `cost_usd`


@dataclass(frozen=True, slots=True)
class CurrentUsage:
    """What a session, today and the present five-hour block have cost so far, as far as the store is up to date."""

    at: datetime
    session_id: str | None
    session: CurrentTotal | None  # with its subagents; None: nothing of it is in the store
    today: CurrentTotal
    today_since: datetime
    block: CurrentTotal | None  # None: a message sent now would begin a new block
    block_start: datetime | None
    block_end: datetime | None
    burn_usd_per_hour: Decimal | None  # in the block, from its first message to now
    remaining_minutes: int | None  # of the block
    budgets: tuple[Budget, ...]
