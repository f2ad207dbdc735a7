"""Templates, and how values read in them; everything is escaped unless `render.html` made it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hansard import __version__
from hansard.render import words
from hansard.render.html.escaping import visible
from hansard.render.html.figures import machine
from hansard.render.money import dollars
from hansard.web.static_files import address

if TYPE_CHECKING:
    from jinja2 import Environment

PLACES = (
    ("/", "Overview", "o"),
    ("/sessions", "Sessions", "s"),
    ("/search", "Search", "f"),
    ("/usage", "Usage", "u"),
    ("/files", "Files", "i"),
    ("/tools", "Tools", "t"),
    ("/prompts", "Prompts", "p"),
    ("/health", "Health", "h"),
)
"""The pages of the navigation, each with the key that leads there behind g."""


def page(template: str, **values: Any) -> str:
    """A template with these values; `at` is the place of the navigation that it belongs to."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("hansard.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )
    env.globals.update(
        places=PLACES,
        address=address,
        version=__version__,
        at=None,
        bare=False,
        demo=False,
        read_only=False,
        syncing=False,
        trouble=None,
    )
    env.filters.update(
        money=dollars,
        short=words.short,
        size=words.size,
        duration=words.duration,
        project_name=words.project_name,
        model_name=words.model_name,
        tool_name=words.tool_name,
        full=words.full,
        when=lambda moment: words.when(moment, datetime.now(UTC)),
        ago=lambda moment: words.ago(moment, datetime.now(UTC)),
        ahead=lambda moment: words.ahead(moment, datetime.now(UTC)),
        many=words.many,
        machine=machine,
        line=one_line,
        segment=lambda text: quote(str(text), safe=""),
    )
    return env


def _shown(value: Any) -> Any:
    """Text with its control characters made visible, before it is escaped."""
    return visible(value) if type(value) is str else value


def one_line(text: str | None, limit: int = 300) -> str:
    """A text on one line, cut where it is too long."""
    given = text or ""
    line = " ".join(given[: limit * 4].split())
    return line[:limit].rstrip() + "…" if len(line) > limit or len(given) > limit * 4 else line
