"""What Claude Code says about permissions: the mode of a prompt, and who allowed or denied a call.

`permissionDecision` (since 2.1.310) names who decided, `toolDenialKind` (since 2.1.220) only some denials, and calls
`user-rejected` what was refused without a person being asked, as in print mode. So the text of a refusal is read too;
in older versions it is all there is.
"""

from __future__ import annotations

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient, result_text, string
from hansard.clients.rows import Decision
from hansard.model.permissions import ALLOWED, DENIED

_MODES = {
    "default": "ask",
    "acceptEdits": "edits",
    "plan": "plan",
    "auto": "auto",
    "dontAsk": "deny",
    "bypassPermissions": "bypass",
}
_REFUSALS = (
    ("The user doesn't want to", "user"),
    ("[Request interrupted by user", "interrupted"),
    ("[Tool call interrupted", "interrupted"),
    ("Claude requested permissions to", "unanswered"),
    ("Exit plan mode?", "unanswered"),
    ("Permission to use ", "rule"),
    ("Auto mode ", "classifier"),
)
_REFUSALS_WITHIN = (
    (" while in plan mode", "mode"),
    (" was blocked. For security", "rule"),
    (" hook error: ", "hook"),
    (" blocked by hook", "hook"),
)
_HEAD = 200  # characters of a result in which a refusal is recognised
_LONGEST_WORDS = 100

_decision = msgspec.json.Decoder(wire.PermissionDecision).decode


def mode_of(words: str) -> str:
    """A permission mode in neutral terms; the client's own word if it is not known."""
    return _MODES.get(words, words[:_LONGEST_WORDS])


def decision_of(body: wire.Entry, block: wire.Block) -> Decision | None:
    """Who allowed or denied the call that a result answers, as far as its line says."""
    stated = lenient(_decision, body.permission_decision)
    if stated is not None and stated.decision == "accept":
        return Decision(ALLOWED, _source(stated), _words(stated))
    if not block.is_error:
        return None
    denial = string(body.denial_kind)
    by = _refused_by(result_text(block.content)[:_HEAD])
    if stated is not None and stated.decision == "reject":
        source = _source(stated)
        return Decision(DENIED, source if source != "rule" or not by else by, _words(stated))
    if denial == "interrupted" or denial.startswith("automode"):
        return Decision(DENIED, "interrupted" if denial == "interrupted" else "classifier", denial[:_LONGEST_WORDS])
    if denial or by:
        return Decision(DENIED, by or ("user" if denial == "user-rejected" else "rule"), denial[:_LONGEST_WORDS])
    return None


def _refused_by(text: str) -> str:
    for beginning, by in _REFUSALS:
        if text.startswith(beginning):
            return by
    return next((by for part, by in _REFUSALS_WITHIN if part in text), "")


def _source(stated: wire.PermissionDecision) -> str:
    source, code = stated.source or "", stated.reason_code or ""
    if source.startswith("user"):
        return "user"
    if source == "hook":
        return "hook"
    if code.startswith("mode:") or stated.reason_type == "mode":
        return "mode"
    if "classifier" in (stated.reason_type or "") or "classifier" in source:
        return "classifier"
    return "rule" if source == "config" else "unknown"


def _words(stated: wire.PermissionDecision) -> str:
    said = (stated.source, stated.rule_source, stated.grant_scope, stated.reason_code)
    return ", ".join(word for word in said if word and word != "unknown")[:_LONGEST_WORDS]
