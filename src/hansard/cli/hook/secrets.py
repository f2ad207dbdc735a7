"""Prevention: a warning or a refusal before a secret goes into a prompt, a command or a file, or out of a file to the model.

Nearly every prompt ends at a look for words and runs of characters without which there is no secret. The rest is searched with our own
rules; the kept ones take too long to load while a client waits. Of what the user decided about a secret the store is asked only if one is found.
"""

from __future__ import annotations

import os
import stat

from hansard.cli.hook.run import TOOL, in_time, write_log

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from hansard.guard.detection import Secret

BLOCK = "block"
TOOLS = ("Bash", "Edit", "MultiEdit", "NotebookEdit", "Read", "Write")
"""The client's tools that write files or run commands, and the one that shows a file to the model."""
ALLOWED = "allow-secret"
"""A prompt that says so is let through."""
WORDS = (
    *("pass", "pwd", "secret", "token", "credential", "api", "access", "auth", "signing", "encrypt", "private"),
    *("master", "_key", "bearer", "cookie", "login", "://", "identified by", "mysql", "curl", "-----begin", "q~"),
    *("psk", "kennwort", "contrase", "senha", "\u5bc6", "\u53e3\u4ee4", "\u30d1\u30b9\u30ef\u30fc\u30c9"),
    *("redis-cli", "smbclient", "env ", "net use", "convertto-", "sudo ", ":543", ":6432:", ":*:"),
    *("%", "\\u", "\\x", "&#"),  # and what hides characters
)
_LONG = 15  # characters of a run that may be a token
_MOST = 1 << 20  # characters of a text that are searched
_READ = "Read"
_REPLACED = "old_string"  # of an edit
_NAMED = 3  # kinds of secrets in a message


def secret_instructions(home: str, event: str, said: dict[str, Any], mode: str) -> dict[str, Any]:
    """What the client shall do about secrets in a hook's input; nothing if there are none."""
    is_tool, is_read = event == TOOL, event == TOOL and said.get("tool_name") == _READ
    given = said.get("tool_input") if is_tool else said.get("prompt")
    new = [_content(said)] if is_read else list(_texts(given, is_old=False))
    texts = [text[:_MOST] for text in new if may_hold(text[:_MOST])]
    if not texts or (not is_tool and any(ALLOWED in text for text in texts)):
        return {}
    from hansard.guard.detection import Detector

    find = Detector(None).find
    found = [secret for text in texts for secret in find(text)]
    if found and is_tool and not is_read:  # what a file has already does not go into it now
        before = {secret.value for text in (*_texts(given, is_old=True), _content(said)) for secret in find(text)}
        found = [secret for secret in found if secret.value not in before]
    if found:
        decided = _decided(home, {secret.value for secret in found})
        found = [secret for secret in found if secret.value not in decided]
    return _instructions(found, mode, is_tool=is_tool, is_read=is_read) if found else {}


def may_hold(text: str) -> bool:
    """Whether a text is worth a search: ordinary prose has neither such words nor long runs of mixed characters."""
    lowered = text.lower()
    return any(word in lowered for word in WORDS) or any(
        len(word) >= _LONG and any(sign.isdigit() or sign.isupper() for sign in word) for word in text.split()
    )


def _texts(given: object, *, is_old: bool) -> Iterator[str]:
    """The texts in a prompt or a tool's input: those that an edit replaces, or all others."""
    waiting = [(given, False)]
    while waiting:
        item, is_replaced = waiting.pop()
        if isinstance(item, str):
            if is_replaced == is_old:
                yield item
        elif isinstance(item, dict):
            waiting += [(value, is_replaced or key == _REPLACED) for key, value in item.items()]
        elif isinstance(item, list):
            waiting += [(value, is_replaced) for value in item]


def _content(said: dict[str, Any]) -> str:
    """The beginning of the file that a tool is given; empty for anything but a regular file with text."""
    given, cwd = said.get("tool_input"), said.get("cwd")
    path = given.get("file_path") if isinstance(given, dict) else None
    if not isinstance(path, str) or not path or "\0" in path:
        return ""
    place = os.path.join(cwd if isinstance(cwd, str) else "", path)
    try:
        # A pipe would wait for a writer.
        with open(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            data = file.read(_MOST) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return ""
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def _decided(home: str, values: set[str]) -> set[str]:
    """Which of these the user accepted or called false alarms; none if the store cannot say."""
    if not os.path.exists(os.path.join(home, "record.db")):
        return set()
    try:
        return in_time(lambda: _ask(home, values)) or set()
    except Exception as error:  # noqa: BLE001 - without the store the secrets are as they were found
        write_log(home, f"secrets: {type(error).__name__}: {error}")
        return set()


def _ask(home: str, values: set[str]) -> set[str]:
    from hansard import engine

    with engine.open(home) as h:
        return h.decided_secrets(values)


def _instructions(found: list[Secret], mode: str, *, is_tool: bool, is_read: bool) -> dict[str, Any]:
    from hansard.guard.remedies import rule_title

    kinds = list(dict.fromkeys(rule_title(secret.rule) for secret in found))
    named = ", ".join(kinds[:_NAMED]) + (f" and {len(kinds) - _NAMED} more" if len(kinds) > _NAMED else "")
    is_refused = mode == BLOCK and any(secret.confidence == "high" for secret in found)
    if not is_tool:
        words = f"Hansard: this prompt holds what looks like a secret: {named}."
        if not is_refused:
            return {"systemMessage": f"{words} It goes to the model's provider and into the transcript."}
        words += f" It was not sent. Name an environment variable or a file instead; to send it all the same, add {ALLOWED} to it."
        return {"decision": "block", "reason": words}
    what = "this file holds" if is_read else "this call holds"
    words = f"Hansard: {what} what looks like a secret: {named}."
    if not is_refused:
        return {"systemMessage": words}
    words += (
        " Reading it would put it into the conversation. Read only the lines that are needed, by other means, or ask the user."
        if is_read
        else " Use an environment variable or a file that the user keeps, or ask the user."
    )
    refusal = {"hookEventName": TOOL, "permissionDecision": "deny", "permissionDecisionReason": words}
    return {"hookSpecificOutput": refusal}
