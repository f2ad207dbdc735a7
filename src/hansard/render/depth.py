"""How much of a session is drawn, and how the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hansard.render.format import many
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.display import Item, Part

TYPED = frozenset({"prompt", "command", "bash"})
OTHER_BRANCH = "other branch"
_NAMES = {
    "reply": ("reply", "replies"),
    "tool": ("tool call", "tool calls"),
    "thinking": ("thought", "thoughts"),
    "output": ("output", "outputs"),
    "summary": ("summary", "summaries"),
    OTHER_BRANCH: ("entry on other branches", "entries on other branches"),
}
_NAMED = 4  # kinds of the client's own records that are named


class Depth(NamedTuple):
    """What is drawn."""

    replies: bool = True  # and everything else that was not typed
    thinking: bool = False
    tools: str = "brief"  # none, brief, full
    agents: bool = False  # subagents, inside the calls that started them

    def shows(self, kind: str) -> bool:
        """Whether items of a kind are drawn."""
        if kind == "thinking":
            return self.thinking
        if kind == "tool":
            return self.tools != "none"
        return self.replies or kind in TYPED

    @property
    def is_full(self) -> bool:
        return self.tools == "full"


DEPTHS = {
    "prompts": Depth(replies=False, tools="none"),
    "replies": Depth(tools="none"),
    "tools": Depth(),
    "all": Depth(thinking=True, tools="full", agents=True),
}


def repeats_subject(part: Part, item: Item) -> bool:
    """Whether a part of a tool call only repeats what the call is about."""
    if part.part in ("code", "plain"):
        return getattr(part, "text", "").strip() == item.subject
    pairs: tuple[tuple[str, str], ...] = getattr(part, "pairs", ())
    return part.part == "facts" and [value for _, value in pairs] == [item.subject]


def not_shown(hidden: Counter[str], records: Mapping[str, int]) -> str:
    """Count what is not shown: items by kind, and internal records."""
    parts = []
    for kind, count in hidden.most_common():
        one, several = _NAMES.get(kind, (kind, f"{kind}s"))
        parts.append(many(count, one_line(one), one_line(several)))
    rest = sum(records.values())
    if rest:
        named = ", ".join(f"{count:,} {one_line(name)}" for name, count in Counter(records).most_common(_NAMED))
        more = ", …" if len(records) > _NAMED else ""
        parts.append(f"{many(rest, 'internal record')} ({named}{more})")
    return ", ".join(parts)
