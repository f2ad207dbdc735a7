"""The frozen values that every room above the indexes speaks in. None of them carries a storage id; times are aware UTC.

Names load what they stand for on first use: making a dataclass takes most of a millisecond, and no command needs them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.model.calls import (
        Call,
        CallPage,
        ChangedFile,
        ChangedFolder,
        FileHistory,
        FilePage,
        FolderPage,
        ToolDay,
        ToolReport,
        ToolSums,
    )
    from hansard.model.current import Spent, Standing
    from hansard.model.document import plain
    from hansard.model.explain import (
        Charge,
        ExplainedClass,
        ExplainedLine,
        ExplainedMessage,
        ExplainedRate,
        Explanation,
    )
    from hansard.model.files import Drift, FileChange, IssueExample, IssueKind, Link, SideFile, Todo, Transcript
    from hansard.model.grep import GrepCount, GrepFile, GrepLine
    from hansard.model.ledger import (
        Block,
        Blocks,
        Budget,
        Limit,
        PriceData,
        PriceOverride,
        Pricing,
        Rate,
        Tokens,
        UsageReport,
        UsageRow,
        Work,
    )
    from hansard.model.prompts import Prompt, PromptPage
    from hansard.model.reconcile import (
        ClientCheck,
        ClientDifference,
        Counted,
        PeerCheck,
        PeerModel,
        Reconciliation,
        Step,
        Way,
    )
    from hansard.model.related import Related
    from hansard.model.search import Facets, Hit, Place, SearchPage, SessionHits
    from hansard.model.sessions import (
        Activity,
        Project,
        Remarks,
        Session,
        SessionGroup,
        SessionGroups,
        SessionPage,
        Tagged,
    )
    from hansard.model.threads import Agent, Conversation, Entry, Fork, ToolCall

_HOMES = {
    "Call": "calls",
    "CallPage": "calls",
    "ChangedFile": "calls",
    "ChangedFolder": "calls",
    "FileHistory": "calls",
    "FilePage": "calls",
    "FolderPage": "calls",
    "ToolDay": "calls",
    "ToolReport": "calls",
    "ToolSums": "calls",
    "Charge": "explain",
    "ExplainedClass": "explain",
    "ExplainedLine": "explain",
    "ExplainedMessage": "explain",
    "ExplainedRate": "explain",
    "Explanation": "explain",
    "Drift": "files",
    "FileChange": "files",
    "IssueExample": "files",
    "IssueKind": "files",
    "Link": "files",
    "SideFile": "files",
    "Todo": "files",
    "Transcript": "files",
    "Facets": "search",
    "Hit": "search",
    "Place": "search",
    "SearchPage": "search",
    "SessionHits": "search",
    "GrepCount": "grep",
    "GrepFile": "grep",
    "GrepLine": "grep",
    "Block": "ledger",
    "Blocks": "ledger",
    "Budget": "ledger",
    "Limit": "ledger",
    "PriceData": "ledger",
    "PriceOverride": "ledger",
    "Pricing": "ledger",
    "Rate": "ledger",
    "Tokens": "ledger",
    "UsageReport": "ledger",
    "UsageRow": "ledger",
    "Work": "ledger",
    "Related": "related",
    "ClientCheck": "reconcile",
    "ClientDifference": "reconcile",
    "Counted": "reconcile",
    "PeerCheck": "reconcile",
    "PeerModel": "reconcile",
    "Reconciliation": "reconcile",
    "Step": "reconcile",
    "Way": "reconcile",
    "Activity": "sessions",
    "Project": "sessions",
    "Remarks": "sessions",
    "Session": "sessions",
    "SessionGroup": "sessions",
    "SessionGroups": "sessions",
    "SessionPage": "sessions",
    "Tagged": "sessions",
    "Spent": "current",
    "Standing": "current",
    "Agent": "threads",
    "Conversation": "threads",
    "Entry": "threads",
    "Fork": "threads",
    "ToolCall": "threads",
    "Prompt": "prompts",
    "PromptPage": "prompts",
    "plain": "document",
}

__all__ = [
    "Activity",
    "Agent",
    "Block",
    "Blocks",
    "Budget",
    "Call",
    "CallPage",
    "ChangedFile",
    "ChangedFolder",
    "Charge",
    "ClientCheck",
    "ClientDifference",
    "Conversation",
    "Counted",
    "Drift",
    "Entry",
    "ExplainedClass",
    "ExplainedLine",
    "ExplainedMessage",
    "ExplainedRate",
    "Explanation",
    "Facets",
    "FileChange",
    "FileHistory",
    "FilePage",
    "FolderPage",
    "Fork",
    "GrepCount",
    "GrepFile",
    "GrepLine",
    "Hit",
    "IssueExample",
    "IssueKind",
    "Limit",
    "Link",
    "PeerCheck",
    "PeerModel",
    "Place",
    "PriceData",
    "PriceOverride",
    "Pricing",
    "Project",
    "Prompt",
    "PromptPage",
    "Rate",
    "Reconciliation",
    "Related",
    "Remarks",
    "SearchPage",
    "Session",
    "SessionGroup",
    "SessionGroups",
    "SessionHits",
    "SessionPage",
    "SideFile",
    "Spent",
    "Standing",
    "Step",
    "Tagged",
    "Todo",
    "Tokens",
    "ToolCall",
    "ToolDay",
    "ToolReport",
    "ToolSums",
    "Transcript",
    "UsageReport",
    "UsageRow",
    "Way",
    "Work",
    "plain",
]


def __getattr__(name: str) -> object:
    """Import a value from its module when it is first asked for (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the names, loaded or not."""
    return sorted({*globals(), *__all__})
