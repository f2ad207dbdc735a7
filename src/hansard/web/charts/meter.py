"""How much of something is used up."""

from __future__ import annotations

from decimal import Decimal

from markupsafe import Markup

from hansard.render.html.escaping import escaped
from hansard.web.charts.scale import per_cent


def meter(share: Decimal | float, *, label: str, kind: str = "ok") -> Markup:
    """A bar that is full only when all is used; `kind` is the class of its colour."""
    part = min(1.0, max(0.0, float(share)))
    return Markup(  # noqa: S704 - every text in it went through escaped()
        f'<svg class="chart meter {escaped(kind)}" height="8" role="img" aria-label="{escaped(label)}">'
        f'<rect class="trough" width="100%" height="8" rx="4"/>'
        f'<rect class="used" width="{per_cent(part)}" height="8" rx="4"/></svg>'
    )
