"""How long things are kept: the rules of the configuration file, and what they come to now."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from hansard.model.erasing import ForgetPlan, Receipt
from hansard.model.freeing import Freed, FreePlan


class Rule(Struct, frozen=True, kw_only=True):
    """After how many days without a change something goes; None: another rule decides, 0: never."""

    free_after: int | None = None
    """From the client's folder."""
    delete_after: int | None = None
    """From the record."""


class Retention(Struct, frozen=True, kw_only=True):
    """What the user wants kept, and for how long; for ever by default."""

    general: Rule = Rule()
    kinds: Mapping[str, Rule] = MappingProxyType({})
    projects: Mapping[str, Rule] = MappingProxyType({})
    """By path, or the name of the last folder."""
    hold: tuple[str, ...] = ()
    """Projects by path or name, and sessions by id, of which nothing is freed, deleted or forgotten."""

    @property
    def has_rules(self) -> bool:
        """Whether anything may go by itself."""
        rules = (self.general, *self.kinds.values(), *self.projects.values())
        return any(rule.free_after or rule.delete_after for rule in rules)

    def holds(self, session_id: str, project: str) -> bool:
        """Whether a session is under a hold."""
        return any(name == session_id or is_project(name, project) for name in self.hold)

    def days(self, what: str, project: str, kind: str = "") -> int:
        """After how many days something goes, 0 for never: the rule of its project, else of its kind, else the general one."""
        rules = [rule for name, rule in self.projects.items() if is_project(name, project)]
        rules += [self.kinds[kind]] if kind in self.kinds else []
        found = (getattr(rule, what) for rule in (*rules, self.general))
        return next((days for days in found if days is not None), 0)


def is_project(name: str, project: str) -> bool:
    """Whether a name in the configuration means a project: its path, or its last folder."""
    plain = project.replace("\\", "/").rstrip("/")
    return bool(plain) and name.rstrip("/\\") in (project, plain, plain.rpartition("/")[2])


class RetentionPlan(Struct, frozen=True, kw_only=True):
    """What the rules come to now."""

    free: FreePlan
    delete: ForgetPlan | None = None
    """None: nothing is due."""
    held: int = 0
    """Sessions under a hold."""
    unknown: tuple[str, ...] = ()
    """Names under `hold` or `projects` that no project and no session has."""


class RetentionDone(Struct, frozen=True, kw_only=True):
    """What the rules did."""

    freed: Freed
    receipt: Receipt | None = None
    """Of what was deleted from the record."""
