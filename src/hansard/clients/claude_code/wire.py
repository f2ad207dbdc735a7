"""The shapes that clients write, one msgspec struct per record kind.

Only what Hansard asks for is decoded; the rest is a zero-copy `Raw` or skipped, because the record keeps the bytes anyway.
`StrictEntry` (the conversation records) names every common field and forbids others, so an unknown field is noticed
at no cost on the fast path. Its fields are in the order in which clients write them: msgspec looks for the next key where
the last one was found.
"""

from collections.abc import Iterable
from typing import Annotated, Any, cast

from msgspec import Meta, Raw, Struct, defstruct, field

ABSENT = Raw(b"")

# Numbers that are stored in a database column unchanged; outside these bounds they are neither counts nor times.
Number = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
Moment = Number | Annotated[float, Meta(ge=-(2.0**53), le=2.0**53)] | str


class CacheCreation(Struct, gc=False):
    """Cache writes split by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUse(Struct, gc=False):
    """Tools that ran at the API's side."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class Usage(Struct, gc=False):
    """Token counts of one API answer, as one line states them."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    output_tokens: int | None = None
    server_tool_use: ServerToolUse | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    iterations: Raw = ABSENT
    speed: str | None = None


class Iteration(Struct, gc=False):
    """One model call inside an answer; only advisor calls count on their own."""

    type: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class Block(Struct, gc=False):
    """One content block of any type; large texts stay raw until somebody wants them."""

    type: str | None = None
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    source: Raw = ABSENT


class Message(Struct, gc=False):
    """The API message inside a user or assistant line."""

    model: str | None = None
    id: str | None = None
    role: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class Entry(Struct, gc=False):
    """A conversation record: user, assistant, system, attachment or progress, from disk or from the SDK's stream."""

    parent_uuid: str | None = field(default=None, name="parentUuid")
    logical_parent_uuid: str | None = field(default=None, name="logicalParentUuid")
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    prompt_id: Raw = field(default=ABSENT, name="promptId")
    attachment: Raw = ABSENT
    user_type: Raw = field(default=ABSENT, name="userType")
    cwd: str | None = None
    session_id: str | None = field(default=None, name="sessionId")
    version: str | None = None
    agent_id: str | None = field(default=None, name="agentId")
    git_branch: str | None = field(default=None, name="gitBranch")
    slug: Raw = ABSENT
    content: Raw = ABSENT
    message: Message | None = None
    origin: Raw = ABSENT
    prompt_source: str | None = field(default=None, name="promptSource")
    type: str | None = None
    request_id: str | None = field(default=None, name="requestId")
    request_session_id: str | None = field(default=None, name="requestSessionId")
    subtype: str | None = None
    data: Raw = ABSENT
    duration_ms: Raw = field(default=ABSENT, name="durationMs")
    is_compact_summary: bool | None = field(default=None, name="isCompactSummary")
    repeats_compact_summary: bool | None = field(default=None, name="repeatsCompactSummary")
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")
    tool_use_id: Raw = field(default=ABSENT, name="toolUseID")
    is_api_error: bool | None = field(default=None, name="isApiErrorMessage")
    is_meta: bool | None = field(default=None, name="isMeta")
    uuid: str | None = None
    timestamp: str | None = None
    permission_mode: Raw = field(default=ABSENT, name="permissionMode")
    permission_decision: Raw = field(default=ABSENT, name="permissionDecision")
    denial_kind: Raw = field(default=ABSENT, name="toolDenialKind")
    entrypoint: Raw = ABSENT
    tool_use_result: Raw = field(default=ABSENT, name="toolUseResult")
    source_tool_assistant: Raw = field(default=ABSENT, name="sourceToolAssistantUUID")
    thinking_metadata: Raw = field(default=ABSENT, name="thinkingMetadata")
    todos: Raw = ABSENT
    compact_metadata: Raw = field(default=ABSENT, name="compactMetadata")
    forked_from: Raw = field(default=ABSENT, name="forkedFrom")
    hook_count: Raw = field(default=ABSENT, name="hookCount")
    hook_infos: Raw = field(default=ABSENT, name="hookInfos")
    hook_errors: Raw = field(default=ABSENT, name="hookErrors")
    prevented_continuation: Raw = field(default=ABSENT, name="preventedContinuation")
    stop_reason: Raw = field(default=ABSENT, name="stopReason")
    has_output: Raw = field(default=ABSENT, name="hasOutput")
    level: Raw = ABSENT
    team_name: str | None = field(default=None, name="teamName")
    agent_name: str | None = field(default=None, name="agentName")
    effort: Raw = ABSENT
    cost_usd: Raw = field(default=ABSENT, name="costUSD")
    stream_session: str | None = field(default=None, name="session_id")
    stream_parent_tool: str | None = field(default=None, name="parent_tool_use_id")
    stream_agent: str | None = field(default=None, name="agent_id")
    stream_version: str | None = field(default=None, name="claude_code_version")
    stream_message: str | None = field(default=None, name="api_message_id")
    event: Raw = ABSENT
    model_usage: Raw = field(default=ABSENT, name="modelUsage")


# Common fields of conversation records that Hansard does not decode.
HOT_FIELDS = (
    "toolInputStreamMs apiBlockIndex requestRef requestedModel promptCacheRequested rendered renderedRole sandboxed turnOrigin "
    "turnPosition error perTurnEffort madeBy thinkingDurationMs thinkingDisplay attributionAgent "
    "isVisibleInTranscriptOnly imagePasteIds planContent messageCount renderedBesideToolResult attributionSkill"
).split()


def _strict(name: str, base: type[Struct], others: Iterable[str], **nested: Any) -> type[Any]:
    """A struct that forbids fields other than the base's and these."""
    fields: list[Any] = [(own, kind, None) for own, kind in nested.items()]
    fields += [(other, Raw, field(default=ABSENT, name=other)) for other in others]
    return defstruct(name, fields, bases=(base,), forbid_unknown_fields=True, gc=False)


# Fields inside of records that Hansard does not decode.
StrictUsage = _strict(
    "StrictUsage", Usage, "output_tokens_details fallback_credit x_anthropic_cost_usd x_cost_display".split()
)
StrictBlock = _strict("StrictBlock", Block, "signature data caller citations cache_control title context tool".split())
StrictMessage = _strict(
    "StrictMessage",
    Message,
    "type stop_sequence stop_details context_management container diagnostics service_tier".split(),
    content=str | list[StrictBlock] | None,  # type: ignore[valid-type]
    usage=StrictUsage | None,
)
StrictEntry = cast("type[Entry]", _strict("StrictEntry", Entry, HOT_FIELDS, message=StrictMessage | None))

SYSTEM_SUBTYPES = frozenset(
    """
    api_error api_refusal away_summary bridge_status compact_boundary hook_progress hook_response hook_started informational init
    local_command microcompact_boundary model_refusal_fallback model_refusal_no_fallback notification status stop_hook_summary
    task_notification task_progress task_started task_updated thinking_tokens turn_duration
    """.split()
)
"""The subtypes of `system` records."""

ATTACHMENT_FIELDS = frozenset(
    """
    addedBlocks addedLines addedNames addedTypes allowedTools autoModeConsentFlow availableCommandCount availableCommandNames banner
    bashFirst bashFirstSteer builtInPluginTypes builtInTypes bypass changes cliPrefix command commandMode commandName commit content
    context contextRendering date delivery_id digests displayPath durationMs echoWireToolInputs entries exitCode failedMcpServers
    filename files hookEvent hookName humanTurn identity imagePasteIds inlineTools isInitial isMeta isSubAgent itemCount
    keptReminders managedCommit managedPr name names needsAuthMcpServers newDate origin path pendingMcpServers planContent
    planExists planFilePath pr prompt readdedNames reminderFold reminderType removedNames removedTypes rendered renderedRole runId
    savedCopyFraming sendUserFileHint showConcurrencyNote skillCount snapshot snippet source_uuid species stderr stdout steerOnly
    surfacedNames systemPrompt systemTurns text timestamp toolChangeHeader toolUseID tools toolsUsedDelta type url usage
    wireHiddenNames
    """.split()
)
"""Every field seen in an attachment of any type."""

# Fields seen on conversation records, on disk or in the SDK's stream, that are rare: known, so they are not drift.
RARE_FIELDS = frozenset(
    """
    additional_directories agents analytics_disabled api_error_status apiErrorIsTransient
    apiErrorStatus apiErrorType apiKeySource apiRefusalCategory apiRefusalExplanation attributionMcpServer attributionMcpTool attributionPlugin bridge_status
    capabilities cause classifierBoundary classifierMetaLines commandRun compact_metadata
    contextUsage description duration_api_ms duration_ms errorDetails errors estimated_tokens estimated_tokens_delta
    failedResponseHadNoToolCall fast_mode_disabled_reason fast_mode_state first_content_frame_ms
    healsDistinctCarrier hookAdditionalContext interruptedMessageId is_backgrounded is_error isAbortedMidStream
    isReplay isSynthetic last_tool_name maxRetries mcp_servers mcpCallNotReadOnly mcpMeta memory_paths messageId
    messaging_socket_path microcompactMetadata model model_usage_since_last_result num_turns original_cwd originalModel
    output_file output_style patch pendingBackgroundAgentCount per_turn_effort_active permission_denials plugins
    product_feedback_disabled prompt queued_turn_count queueSkipAttachments parent_task_id refusedMessageId refusedUserMessageUuid renderedInHumanTurn
    request_id resendCannotCure result result_index retryAttempt retryInMs run_id safety_stops
    serverClassifierRequest skills slash_commands source sourceToolUseID spawn_depth status stop_reason
    structured_output subagent_stats subagent_type subagents summarizedTurnPromptUuids summary summary_is_report task_description
    task_id task_type tasks terminal_reason terminal_slash_commands thinking_display thinking_duration_ms
    time_to_request_ms tool_result_meta tool_use_id tool_use_result toolDenialBeforeRun tools total_cost_usd ttft_ms
    ttft_stream_ms turnCompanion ultrathink_available ultrathink_typed_raises url usage user_message_uuid
    userFeedback view_mode
    """.split()
)


class Title(Struct, gc=False):
    """custom-title, ai-title and agent-name: re-appended many times, the last one wins."""

    custom: str | None = field(default=None, name="customTitle")
    ai: str | None = field(default=None, name="aiTitle")
    agent: str | None = field(default=None, name="agentName")
    session_id: str | None = field(default=None, name="sessionId")


class Summary(Struct, gc=False):
    """A title for the conversation that ends in `leaf_uuid`, which is often in another file."""

    summary: str | None = None
    leaf_uuid: str | None = field(default=None, name="leafUuid")


class QueueOperation(Struct, gc=False):
    """Prompts waiting while the model works."""

    operation: str | None = None
    content: Raw = ABSENT
    timestamp: str | None = None
    session_id: str | None = field(default=None, name="sessionId")


class CostState(Struct, gc=False):
    """The client's own running totals."""

    session_id: str | None = field(default=None, name="sessionId")
    model_usage: Raw = field(default=ABSENT, name="modelUsage")
    total_cost_usd: Raw = field(default=ABSENT, name="totalCostUSD")
    has_unknown_model_cost: Raw = field(default=ABSENT, name="hasUnknownModelCost")


class Pointer(Struct, gc=False):
    """Records that point from this session to something else: another session, a pull request, a worktree, a parent."""

    session_id: str | None = field(default=None, name="sessionId")
    continued_in: str | None = field(default=None, name="continuedInSessionId")
    timestamp: str | None = None
    parent_session: str | None = field(default=None, name="parentSessionId")
    pr_url: str | None = field(default=None, name="prUrl")
    pr_number: Number | None = field(default=None, name="prNumber")
    worktree: Raw = field(default=ABSENT, name="worktreeSession")


class Bare(Struct, gc=False):
    """A record that is only counted."""

    session_id: str | None = field(default=None, name="sessionId")
    timestamp: str | None = None
    version: str | None = None
    uuid: str | None = None


class PermissionMode(Bare, gc=False):
    """The mode from here on."""

    mode: str | None = field(default=None, name="permissionMode")


class PermissionDecision(Struct, gc=False):
    """Who allowed or denied a call, and why."""

    decision: str | None = None
    source: str | None = None
    reason_type: str | None = field(default=None, name="reasonType")
    reason_code: str | None = field(default=None, name="reasonCode")
    rule_source: str | None = field(default=None, name="ruleSource")
    grant_scope: str | None = field(default=None, name="grantScope")


class HistoryLine(Struct, gc=False):
    """One typed prompt of history.jsonl."""

    display: str | None = None
    pasted: Raw = field(default=ABSENT, name="pastedContents")
    timestamp: Moment | None = None
    project: str | None = None
    session_id: str | None = field(default=None, name="sessionId")


class Tail(Struct, gc=False):
    """Only the tag; used where nothing else is known of a record."""

    type: str | None = None
    version: str | None = None


ENTRY_KINDS = frozenset({"user", "assistant", "system", "attachment", "progress", "result", "stream_event"})

# Records beside the conversation: the struct, and every field seen in one (besides `type` and `sessionId`).
_SIDE_RECORDS: dict[str, tuple[type[Any], str]] = {
    "agent-name": (Title, "agentName"),
    "ai-title": (Title, "aiTitle"),
    "custom-title": (Title, "customTitle"),
    "summary": (Summary, "summary leafUuid"),
    "queue-operation": (QueueOperation, "operation timestamp content reason commandUuid deliveryId"),
    "cost-state": (
        CostState,
        (
            "totalCostUSD totalAPIDuration totalAPIDurationWithoutRetries totalToolDuration totalLinesAdded"
            " totalLinesRemoved totalDuration startTime modelUsage hasUnknownModelCost"
        ),
    ),
    "continued-in": (Pointer, "timestamp continuedInSessionId"),
    "fork-context-ref": (Pointer, "agentId parentSessionId parentLastUuid contextLength"),
    "pr-link": (Pointer, "prNumber prUrl prRepository timestamp"),
    "worktree-state": (Pointer, "worktreeSession"),
    "api-request": (
        Bare,
        "id timestamp version querySource shapeHash params keep tail cacheControl requestDigest base agentId",
    ),
    "api-request-blob": (Bare, "hash message agentId"),
    "api-request-shape": (Bare, "shapeHash timestamp version shape agentId"),
    "atis-latch": (Bare, "atis"),
    "bridge-session": (Bare, "bridgeSessionId lastSequenceNum ownerAccountUuid ownerOrganizationUuid"),
    "file-history-delta": (Bare, "messageId snapshotMessageId trackingPath backup timestamp"),
    "file-history-snapshot": (Bare, "messageId snapshot isSnapshotUpdate"),
    "frame-link": (Bare, "path frameUrl title timestamp"),
    "last-prompt": (Bare, "lastPrompt leafUuid explicit"),
    "mode": (Bare, "mode"),
    "permission-mode": (PermissionMode, "permissionMode"),
    "started": (Bare, "key agentId timestamp"),
    "tools-used": (Bare, "tools"),
}
METADATA: dict[str, type[Any]] = {kind: shape for kind, (shape, _) in _SIDE_RECORDS.items()}
METADATA_FIELDS: dict[str, frozenset[str]] = {
    kind: frozenset({"type", "sessionId", *fields.split()}) for kind, (_, fields) in _SIDE_RECORDS.items()
}

NESTED_FIELDS: dict[str, dict[str, frozenset[str]]] = {
    "file-history-delta": {"backup": frozenset("backupFileName version backupTime realParentDir".split())},
    "file-history-snapshot": {
        "snapshot": frozenset("messageId trackedFileBackups timestamp hasUntrackedChanges".split())
    },
    "worktree-state": {
        "worktreeSession": frozenset(
            (
                "originalCwd worktreePath worktreeName worktreeBranch originalBranch originalHeadCommit sessionId preEnterOriginalCwd"
            ).split()
        )
    },
}
"""Every field seen inside of fields of records beside the conversation."""


class Hunk(Struct, gc=False):
    """One hunk of a structured patch; its header numbers are not reliable, its lines are."""

    lines: list[str] = []


class ToolResult(Struct, gc=False):
    """What of `toolUseResult` is worth knowing for every tool."""

    agent_id: str | None = field(default=None, name="agentId")
    file_path: str | None = field(default=None, name="filePath")
    notebook_path: str | None = None
    type: str | None = None
    patch: list[Hunk] | None = field(default=None, name="structuredPatch")
    content: Raw = ABSENT
    status: str | None = None
    persisted_path: str | None = field(default=None, name="persistedOutputPath")
    is_async: bool | None = field(default=None, name="isAsync")
    duration_ms: float | None = field(default=None, name="totalDurationMs")


class ToolInput(Struct, gc=False):
    """What of a tool's input is worth knowing for every tool."""

    file_path: Raw = ABSENT
    notebook_path: Raw = ABSENT
    path: Raw = ABSENT
    prompt: Raw = ABSENT
    description: Raw = ABSENT
    subagent_type: Raw = ABSENT


class Attachment(Struct, gc=False):
    """An attachment's tag and the queued prompt it may carry."""

    type: str | None = None
    prompt: Raw = ABSENT
    command_mode: str | None = field(default=None, name="commandMode")
    origin: Raw = ABSENT


class StreamDelta(Struct, gc=False):
    """How an answer ended, as an event of the SDK's stream."""

    stop_reason: str | None = None


class StreamEvent(Struct, gc=False):
    """An event of the SDK's stream with partial messages."""

    type: str | None = None
    delta: StreamDelta | None = None
    usage: Usage | None = None


class EmbeddedLine(Struct, gc=False):
    """A line of a subagent as a progress record of its parent repeats it."""

    type: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    message: Message | None = None
    request_id: str | None = field(default=None, name="requestId")
    uuid: str | None = None
    is_meta: bool | None = field(default=None, name="isMeta")
    is_api_error: bool | None = field(default=None, name="isApiErrorMessage")
    tool_use_result: Raw = field(default=ABSENT, name="toolUseResult")
    cost_usd: Raw = field(default=ABSENT, name="costUSD")


class Progress(Struct, gc=False):
    """A progress record's tag, the agent it speaks of, and the line of it that it repeats."""

    type: str | None = None
    message: Raw = ABSENT
    prompt: Raw = ABSENT
    agent_id: str | None = field(default=None, name="agentId")


class Origin(Struct, gc=False):
    """Who caused a user line."""

    kind: str | None = None


class ForkedFrom(Struct, gc=False):
    """Where a branched line was copied from."""

    session_id: str | None = field(default=None, name="sessionId")
    message_uuid: str | None = field(default=None, name="messageUuid")


class Worktree(Struct, gc=False):
    """Where a worktree session came from."""

    original_cwd: str | None = field(default=None, name="originalCwd")
    path: str | None = field(default=None, name="worktreePath")
    branch: str | None = field(default=None, name="worktreeBranch")


class CompactMetadata(Struct, gc=False):
    """What a compaction was and how much it dropped."""

    trigger: str | None = None
    pre_tokens: Number | None = field(default=None, name="preTokens")
    post_tokens: Number | None = field(default=None, name="postTokens")


class AgentMeta(Struct, gc=False):
    """agent-*.meta.json."""

    agent_type: str | None = field(default=None, name="agentType")
    description: str | None = None
    tool_use_id: str | None = field(default=None, name="toolUseId")
    parent_agent_id: str | None = field(default=None, name="parentAgentId")
    spawn_depth: Number | None = field(default=None, name="spawnDepth")
    name: str | None = None
