"""Where the money stands at a moment."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.ledger import Budget


class CurrentTotal(Struct, frozen=True):
    """What some messages used and cost."""

    cost_usd: PlainDecimal | None  # of what has a price; None where nothing has
    tokens: int  # of every class
    api_messages: int
    lower_bound_messages: int  # their output is only a lower bound
    unpriced_models: tuple[str, ...]  # what they did is not in `cost_usd`


class CurrentUsage(Struct, frozen=True):
    """What a session, today and the present five-hour block have cost so far, as far as the store is up to date."""

    at: Timestamp
    session_id: str | None
    session: CurrentTotal | None  # with its subagents; None: nothing of it is in the store
    today: CurrentTotal
    today_since: Timestamp
    block: CurrentTotal | None  # None: a message sent now would begin a new block
    block_start: Timestamp | None
    block_end: Timestamp | None
    burn_usd_per_hour: PlainDecimal | None  # in the block, from its first message to now
    remaining_minutes: int | None  # of the block
    budgets: tuple[Budget, ...]
