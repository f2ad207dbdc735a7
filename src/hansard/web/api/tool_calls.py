"""What tools did, over all sessions: files and calls."""

from __future__ import annotations

from hansard.model.calls import CallPage, FileHistory, FilePage, ToolReport
from hansard.model.requests import CallsRequest, FileHistoryRequest, FilesRequest, ToolsRequest
from hansard.web.api.endpoint import Endpoint

ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/files",
        "Files that tool calls changed, last changed first",
        lambda call: call.h.files(call.request),
        FilePage,
        FilesRequest,
        "text under project since until sort ascending limit cursor",
    ),
    Endpoint(
        "GET",
        "/api/files/history",
        "Changes to one file, newest first",
        lambda call: call.h.file_history(call.request),
        FileHistory,
        FileHistoryRequest,
        "path reads project since until limit cursor",
    ),
    Endpoint(
        "GET",
        "/api/calls",
        "Tool calls, newest first",
        lambda call: call.h.calls(call.request),
        CallPage,
        CallsRequest,
        "query kind tool text under project since until sort subjects outputs limit cursor",
    ),
    Endpoint(
        "GET",
        "/api/tools",
        "Every tool with its calls, durations and failures",
        lambda call: call.h.tools(call.request),
        ToolReport,
        ToolsRequest,
        "query tool project model since until timezone",
    ),
)
