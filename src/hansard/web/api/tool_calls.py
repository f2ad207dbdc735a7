"""What tools did, over all sessions: files and calls."""

from __future__ import annotations

from hansard.model.calls import CallPage, FileHistory, FilePage, ToolReport
from hansard.query import files, tool_calls
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import (
    CURSOR,
    MODEL,
    PROJECT,
    QUERY,
    SINCE,
    TIMEZONE,
    UNTIL,
    Choice,
    Flag,
    Number,
    RequiredText,
    Text,
    sort_order,
)

_TEXT = Text("text", "Of files with all these words in their path.")
_UNDER = Text("under", "Of files in this folder, at any depth: a path with a slash at its end.")


def _files(call: Call) -> FilePage:
    given = call.given
    return call.h.files(
        given["text"],
        **call.conditions,
        under=given["under"],
        sort=given["sort"],
        ascending=call.ascending,
        limit=given["limit"],
        cursor=given["cursor"],
    )


def _history(call: Call) -> FileHistory:
    given = call.given
    return call.h.file_history(
        given["path"],
        **call.conditions,
        reads=given["reads"],
        limit=given["limit"],
        cursor=given["cursor"],
    )


def _calls(call: Call) -> CallPage:
    given = call.given
    return call.h.calls(
        given["q"],
        kind=given["kind"],
        text=given["text"],
        under=given["under"],
        **call.conditions,
        sort=given["sort"],
        subjects=given["subjects"],
        outputs=given["outputs"],
        limit=given["limit"],
        cursor=given["cursor"],
        timezone=call.timezone,
    )


def _tools(call: Call) -> ToolReport:
    given = call.given
    return call.h.tools(
        given["q"],
        **call.conditions,
        timezone=call.timezone,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/files",
        "Files that tool calls changed, the last changed first",
        _files,
        FilePage,
        parameters=(
            _TEXT,
            _UNDER,
            PROJECT,
            SINCE,
            UNTIL,
            *sort_order(tuple(files.SORTS), "last"),
            Number("limit", "How many at most.", 1, 500, 50),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/files/history",
        "What tool calls did to one file, the newest first",
        _history,
        FileHistory,
        parameters=(
            RequiredText("path", "The file's path, as the calls name it."),
            Flag("reads", "Also calls that did not change it."),
            PROJECT,
            SINCE,
            UNTIL,
            Number("limit", "How many calls at most.", 1, 500, 25),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/calls",
        "Tool calls, the newest first",
        _calls,
        CallPage,
        parameters=(
            QUERY,
            Choice("kind", "All, those that changed a file, or those that failed.", tool_calls.KINDS, "all"),
            Text("tool", "Of this tool, or of this MCP server; a star at the end: all that begin so."),
            _TEXT,
            _UNDER,
            PROJECT,
            SINCE,
            UNTIL,
            Choice("sort", "What comes first.", tuple(tool_calls.SORTS), "newest"),
            Flag("subjects", "Also what each is about."),
            Flag("outputs", "Also how each result begins."),
            Number("limit", "How many at most.", 1, 200, 50),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/tools",
        "Every tool: how often it was called, how long that took, how often it failed",
        _tools,
        ToolReport,
        parameters=(
            QUERY,
            Text("tool", "Only this one, or those of this MCP server; a star at the end: all that begin so."),
            PROJECT,
            MODEL,
            SINCE,
            UNTIL,
            TIMEZONE,
        ),
    ),
)
