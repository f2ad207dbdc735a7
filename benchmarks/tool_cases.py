"""Questions about the public transcripts: what to ask which tool, and a short fact that the answers must hold."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """A question: calls in order, where `{session}` is the first session of the answer before; one answer must hold the fact."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    fact: str


def recall(question: str, fact: str) -> Case:
    return Case((("recall", {"question": question}),), fact)


def recall_and_read(question: str, fact: str) -> Case:
    return Case((("recall", {"question": question}), ("read", {"target": "{session}"})), fact)


def one(tool: str, fact: str, **given: Any) -> Case:
    return Case(((tool, given),), fact)


CASES = (
    recall(
        "which pull request fixed the write permission of the staging tag workflow for desktop releases", "pull/157"
    ),
    recall("in which pull request were the security findings about unlinkMethod locking fixed", "pull/172"),
    recall("which environment variable switches the test login endpoint on", "TEST_LOGIN_SECRET"),
    recall("why did the shared page show stale shares in the e2e test", "useSharedNavigation"),
    recall("what derivation did file IPNS keys use before they became random", "HKDF"),
    recall_and_read("commit of the todo for LOW-02 about random file IPNS keys", "1b3df75"),
    recall("where is the todo for contract wallet authentication", "erc-1271"),
    recall("todo about splitting file metadata into per-file IPNS objects", "file-metadata-evolution-v2"),
    recall("in what order are the phases executed after per-file IPNS metadata was added to the roadmap", "12.6"),
    recall("how many tests were added for the shares module", "49 new tests"),
    recall("which field does the details dialog show in v2 instead of Content CID", "Metadata CID"),
    recall_and_read("list-view empty state and onDoubleClick fix of coderabbit comments", "b0744b6"),
    recall_and_read("sharing by the public key of the corekit keypair, most private option", "156c7fcc0"),
    recall_and_read("go through the failing e2e tests locally", "13d28cfcf"),
    recall_and_read("upload JSON reports in the web UI", "7238eaa"),
    recall_and_read("cursor support rules and skills detection", "78d52f8"),
    recall_and_read("remediation impact evaluation", "345c4c3"),
    recall_and_read("multi-remediation support", "e9dd4d8"),
    recall_and_read("remediation in cloud mode, one per evaluation, deletion", "fc1a1e7"),
    recall_and_read("re-run evaluation from the summary page", "b67cccf"),
    recall("git checkout failed when the AI only created new files", "resetWorkingDirectory"),
    recall("in which commit was support for tar archives added", "70f2781"),
    recall("which header propagates OpenTelemetry traces in the plugin hooks", "traceparent"),
    recall("how are active sessions tracked by the lifecycle hooks registry", "ETS-based"),
    recall("how was the npm bug in run.sh worked around", "legacy-peer-deps"),
    one("sessions", "258c7280", branch="spotter-gqc"),
    one("sessions", "464878eb", commit="7238eaa"),
    one("sessions", "392fa55d", pull_request="cipher-box/pull/157"),
    one("files", "2d14de52", path="src/shared/claude/prompt-builder.test.ts"),
    one("usage", "claude-opus-4-6", by="model"),
)
