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

_TEXT = Text("text", "Only files with all these words in their path.")
_UNDER = Text("under", "Only files below this folder: a path with a trailing slash.")


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
        "Files that tool calls changed, last changed first",
        _files,
        FilePage,
        parameters=(
            _TEXT,
            _UNDER,
            PROJECT,
            SINCE,
            UNTIL,
            *sort_order(tuple(files.SORTS), "last"),
            Number("limit", "Maximum number.", 1, 500, 50),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/files/history",
        "Changes to one file, newest first",
        _history,
        FileHistory,
        parameters=(
            RequiredText("path", "The file's path as it is in the calls."),
            Flag("reads", "Include calls that did not change it."),
            PROJECT,
            SINCE,
            UNTIL,
            Number("limit", "Maximum number of calls.", 1, 500, 25),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/calls",
        "Tool calls, newest first",
        _calls,
        CallPage,
        parameters=(
            QUERY,
            Choice("kind", "All calls, those that changed a file, or failed ones.", tool_calls.KINDS, "all"),
            Text("tool", "Only this tool or MCP server; a trailing * matches a prefix."),
            _TEXT,
            _UNDER,
            PROJECT,
            SINCE,
            UNTIL,
            Choice("sort", "Sort order.", tuple(tool_calls.SORTS), "newest"),
            Flag("subjects", "Add what each call is about."),
            Flag("outputs", "Add the beginning of each result."),
            Number("limit", "Maximum number.", 1, 200, 50),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/tools",
        "Every tool with its calls, durations and failures",
        _tools,
        ToolReport,
        parameters=(
            QUERY,
            Text("tool", "Only this tool or MCP server; a trailing * matches a prefix."),
            PROJECT,
            MODEL,
            SINCE,
            UNTIL,
            TIMEZONE,
        ),
    ),
)
