"""What every page shares: its template, style and script, and the policy by which it runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

from hansard.render.html.escaping import quoted

_GAP = re.compile(r"\{\{(\w+)\}\}")


@cache
def asset(name: str) -> str:
    """A file of the package's assets."""
    return files("hansard.render.html").joinpath("assets", name).read_text(encoding="utf-8")


def filled(template: str, values: Mapping[str, str | Iterable[str]]) -> Iterator[str]:
    """A template's text with a value in each {{gap}}; values are not looked into, and long ones go by piece by piece."""
    for place, piece in enumerate(_GAP.split(asset(template))):
        if not place % 2:
            yield piece
        elif isinstance(value := values[piece], str):
            yield value
        else:
            yield from value


def document(
    template: str, styles: Iterable[str], scripts: Iterable[str], values: Mapping[str, str | Iterable[str]]
) -> Iterator[str]:
    """A page: a template with its style and script inside it, allowed by their digests, and nothing else allowed."""
    style = "\n".join(map(asset, styles))
    script = "\n".join(map(asset, scripts))
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return filled(template, {"policy": quoted(policy), "style": style, "script": script, **values})


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
