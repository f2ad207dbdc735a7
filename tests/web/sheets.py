"""What the pages of the ledger show, read back from their HTML."""

from __future__ import annotations

import html
import re
from decimal import Decimal


def shown(page: str) -> list[list[str]]:
    """The cells of the table's rows, the total last."""
    table = page.partition('<table class="rows ledger">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    return [[_text(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows]


def links(page: str) -> list[str]:
    """Where the cost of each row leads, the total last."""
    table = page.partition('<table class="rows ledger">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    return [html.unescape(re.findall(r'href="(/explain[^"]*)"', row)[-1]) for row in rows if "/explain" in row]


def heads(page: str) -> list[tuple[str, str]]:
    """The columns that can be sorted, and where they lead."""
    return [(name, html.unescape(href)) for href, name in re.findall(r'<a href="([^"]+)#table">(\w+)</a>', page)]


def _text(cell: str) -> str:
    return html.unescape(re.sub(r"<small>.*?</small>|<[^>]+>", "", cell)).strip()


def exactly(page: str) -> Decimal | None:
    """The exact amount that an explanation begins with."""
    found = re.search(r"<span data-exact>\$([\d,.]+)</span>", page)
    return None if found is None else Decimal(found[1].replace(",", ""))
