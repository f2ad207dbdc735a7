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
    from hansard.model.document import plain
    from hansard.model.explained import (
        Charge,
        ExplainedClass,
        ExplainedLine,
        ExplainedMessage,
        ExplainedRate,
        Explanation,
    )
    from hansard.model.files import Drift, FileChange, IssueExample, IssueKind, Link, SideFile, Todo, Transcript
    from hansard.model.found import Facets, Hit, Place, SearchPage, SessionHits
    from hansard.model.grepped import GrepCount, GrepFile, GrepLine
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
    from hansard.model.likeness import Related
    from hansard.model.reconciled import (
        ClientCheck,
        ClientDifference,
        Counted,
        PeerCheck,
        PeerModel,
        Reconciliation,
        Step,
        Way,
    )
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
    from hansard.model.standing import Spent, Standing
    from hansard.model.threads import Agent, Conversation, Entry, Fork, ToolCall
    from hansard.model.typed import Prompt, PromptPage

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
    "Charge": "explained",
    "ExplainedClass": "explained",
    "ExplainedLine": "explained",
    "ExplainedMessage": "explained",
    "ExplainedRate": "explained",
    "Explanation": "explained",
    "Drift": "files",
    "FileChange": "files",
    "IssueExample": "files",
    "IssueKind": "files",
    "Link": "files",
    "SideFile": "files",
    "Todo": "files",
    "Transcript": "files",
    "Facets": "found",
    "Hit": "found",
    "Place": "found",
    "SearchPage": "found",
    "SessionHits": "found",
    "GrepCount": "grepped",
    "GrepFile": "grepped",
    "GrepLine": "grepped",
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
    "Related": "likeness",
    "ClientCheck": "reconciled",
    "ClientDifference": "reconciled",
    "Counted": "reconciled",
    "PeerCheck": "reconciled",
    "PeerModel": "reconciled",
    "Reconciliation": "reconciled",
    "Step": "reconciled",
    "Way": "reconciled",
    "Activity": "sessions",
    "Project": "sessions",
    "Remarks": "sessions",
    "Session": "sessions",
    "SessionGroup": "sessions",
    "SessionGroups": "sessions",
    "SessionPage": "sessions",
    "Tagged": "sessions",
    "Spent": "standing",
    "Standing": "standing",
    "Agent": "threads",
    "Conversation": "threads",
    "Entry": "threads",
    "Fork": "threads",
    "ToolCall": "threads",
    "Prompt": "typed",
    "PromptPage": "typed",
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
