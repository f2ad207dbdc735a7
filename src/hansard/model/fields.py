"""Field types with extra JSON Schema, which describes how `serialize.plain` writes them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

from msgspec import Meta

Timestamp = Annotated[datetime, Meta(tz=True, extra_json_schema={"pattern": "Z$"})]
PlainDecimal = Annotated[Decimal, Meta(extra_json_schema={"pattern": r"^-?[0-9]+(\.[0-9]+)?$"})]
