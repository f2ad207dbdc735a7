"""What stands for a secret in a text: the rule that found it, and a short keyed hash, such as `[github-pat:3f2a]`. Hooks import this, so nothing else is here."""

from __future__ import annotations

from hansard.lazy_regex import lazy_compile

PLACEHOLDER = lazy_compile(r"\[[a-z0-9][a-z0-9-]{1,60}:[0-9a-f]{4}\]")


def placeholder(rule: str, secret_id: str) -> str:
    """The placeholder of a secret, by its fingerprint."""
    return f"[{rule}:{secret_id[:4]}]"
