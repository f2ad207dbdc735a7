"""From one total to another, cause by cause: rules that differ in one respect each, so the steps add up to the difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hansard.ledger.reconcile.rules import Count, Rule
from hansard.model.reconcile import Counted, CountingMethod, DifferenceStep


@dataclass(frozen=True, slots=True)
class Change:
    """One respect in which a rule is another than the one before, and what that does."""

    cause: str
    about: str
    how: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MethodRules:
    """How somebody counts: what changes from our rule to theirs, in the order in which it is told."""

    name: str
    title: str
    rule: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def last(self) -> Rule:
        """Their rule."""
        rule = Rule()
        for change in self.changes:
            rule = replace(rule, **change.how)
        return rule


def walk(count: Count, habit: MethodRules, ours: Counted) -> CountingMethod:
    """The way from our total to theirs; a respect that changes nothing is no cause."""
    steps: list[DifferenceStep] = []
    rule = Rule()
    before = count.total(rule)
    add(
        steps,
        "read_otherwise",
        "lines that differ from the index: run `hansard rebuild`",
        before - ours,
    )
    for change in habit.changes:
        rule = replace(rule, **change.how)
        after = count.total(rule)
        add(steps, change.cause, change.about, after - before)
        before = after
    return CountingMethod(habit.name, habit.title, habit.rule, ours, before, tuple(steps), habit.notes)


def add(steps: list[DifferenceStep], cause: str, about: str, amount: Counted) -> None:
    """Tell a cause that has any effect."""
    if amount:
        steps.append(DifferenceStep(cause, about, amount))
