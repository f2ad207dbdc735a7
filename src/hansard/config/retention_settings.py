"""How long things are kept, in the configuration file."""

from __future__ import annotations

from typing import Any

from hansard.config.cost_settings import refuse_unknown
from hansard.errors import UsageError
from hansard.model.freeing import KINDS
from hansard.model.retention import Retention, Rule

_DAYS = ("free_after_days", "delete_after_days")
_WHOLE = "transcript"  # goes with its session only


def retention(path: str, value: object) -> Retention:
    """The rules: general ones, those of kinds and of projects, and what is on hold."""
    if not isinstance(value, dict):
        raise UsageError(
            f"{path}: retention is a table: write [retention] above it, and for example free_after_days = 90 in it"
        )
    refuse_unknown(path, "retention", value, {*_DAYS, "hold", "kinds", "projects"})
    kinds, projects = (_tables(path, name, value.get(name, {})) for name in ("kinds", "projects"))
    refuse_unknown(path, "retention.kinds", kinds, set(KINDS))
    if "delete_after_days" in kinds.get(_WHOLE, {}):
        raise UsageError(
            f"{path}: retention.kinds.{_WHOLE}: sessions are deleted as a whole: set delete_after_days for all or for a project"
        )
    hold = value.get("hold", [])
    if not isinstance(hold, list) or not all(isinstance(name, str) and name.strip() for name in hold):
        raise UsageError(f'{path}: retention: hold must be a list of projects and session ids, e.g. hold = ["webshop"]')
    import os

    return Retention(
        general=_rule(path, "retention", value),
        kinds={name: _rule(path, f"retention.kinds.{name}", item) for name, item in kinds.items()},
        projects={
            os.path.expanduser(name): _rule(path, f"retention.projects.{name}", item) for name, item in projects.items()
        },
        hold=tuple(map(os.path.expanduser, hold)),
    )


def _tables(path: str, name: str, value: object) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(item, dict) for item in value.values()):
        example = "file_history" if name == "kinds" else '"my-app"'
        raise UsageError(f"{path}: retention.{name} are tables: write [retention.{name}.{example}] above each one")
    return value


def _rule(path: str, place: str, item: dict[str, Any]) -> Rule:
    refuse_unknown(path, place, item, {*_DAYS, "hold", "kinds", "projects"} if place == "retention" else {*_DAYS})
    free, delete = (_days(path, place, name, item.get(name)) for name in _DAYS)
    return Rule(free_after=free, delete_after=delete)


def _days(path: str, place: str, name: str, value: object) -> int | None:
    if value is None:
        return None
    if value == "never":
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f'{path}: {place}: {name} must be a number of days, at least 1, or "never"')
    return value
