"""Words for permissions: the modes in which clients work, and who decided about a call."""

from __future__ import annotations

from typing import Literal

MODES = {
    "ask": "asks before anything that no rule allows",
    "edits": "edits files without asking, asks before other tools",
    "plan": "reads and plans, changes nothing",
    "auto": "the client or the model decides what to ask",
    "deny": "refuses what no rule allows, and never asks",
    "bypass": "asks nothing and allows everything",
}
"""Permission modes in neutral terms; each client's own words map to one of them."""

DECIDERS = {
    "user": "a person, when asked",
    "rule": "a rule of the settings or the command line, or the client's own limits",
    "mode": "the permission mode, such as plan mode",
    "hook": "a hook",
    "classifier": "a model that judges calls",
    "unanswered": "permission was needed and nobody was there to give it",
    "interrupted": "the user or the end of the session stopped the call",
    "unknown": "the client does not say",
}
"""Who allowed or denied a call."""

MODE, ALLOWED, DENIED = "mode", "allowed", "denied"
PermissionFact = Literal["modes", "approvals", "denials"]
"""What the transcripts of a client can say: the mode a session works in, who allowed a call, who refused one."""
