"""Claude Code as a source: its roots, its layout and its names."""

from hansard.sources.discover import Found, LeftOut, Unreadable, discover
from hansard.sources.layout import FileKind, kind_of
from hansard.sources.names import agent_of, encode_project, escape, printable, project_dir_of, session_of, unescape
from hansard.sources.roots import (
    Root,
    cleanup_period_days,
    default_root_paths,
    open_root,
    open_roots,
    running_sessions,
    split_paths,
)

__all__ = [
    "FileKind",
    "Found",
    "LeftOut",
    "Root",
    "Unreadable",
    "agent_of",
    "cleanup_period_days",
    "default_root_paths",
    "discover",
    "encode_project",
    "escape",
    "kind_of",
    "open_root",
    "open_roots",
    "printable",
    "project_dir_of",
    "running_sessions",
    "session_of",
    "split_paths",
    "unescape",
]
