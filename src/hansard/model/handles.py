"""Ids as they may be shown to an agent. Ids come from transcript lines, so one can be any text: an instruction, a key, a megabyte."""

from __future__ import annotations

from hansard.lazy_regex import lazy_compile

# UUIDs, and the ids that clients give to subagents: 3f2a91c0, a1b2c3d4e5f60718, acompact-9f31c2, aprompt_suggestion-77ab01,
# areview-tests-0123456789abcdef. The index names threads inside of main files sidechain-3f2a91c0.
_ID = lazy_compile(
    r"(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9a-f]{6,17}|sidechain-[0-9a-f]{1,16}|a(?=[a-z_-]{1,32}-[0-9a-f]+\Z)[a-z]+(?:[_-][a-z]+){0,3}-[0-9a-f]{6,16})\Z"
)
_HANDLE = lazy_compile(r"id-[0-9a-f]{16}\Z")


def shown_id(id_: str) -> str:
    """The id itself if it has the form of an id or a handle, else a handle: a short hash that is taken wherever an id is."""
    if not id_ or _ID.match(id_) or _HANDLE.match(id_):
        return id_
    from hashlib import sha256

    return f"id-{sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def is_handle(name: str) -> bool:
    """Whether a name has the form of a handle. An id can be spelled so too; a name then means the id that it is the hash of, if there is one."""
    return _HANDLE.match(name) is not None
