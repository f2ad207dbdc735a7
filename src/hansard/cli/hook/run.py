"""`hansard hook`: its options without click, the client's JSON, requests to the process behind it, a log, exit code 0."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.background import ProcessLock, start_once
from hansard.cli.fast_start import FastOptions, decode, is_name, leave, read_input
from hansard.directories import data_directory
from hansard.files import write_private

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Answer = TypeVar("_Answer")

KEEPING = frozenset({"SessionEnd", "PreCompact"})
"""Events after which the transcript must be safe: the client may delete or compact it."""
WARMING = frozenset(
    {"Stop", "StopFailure", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStop", "PostCompact"}
)
"""Events after which there is something new to index."""
PROMPT, TOOL = "UserPromptSubmit", "PreToolUse"
ACTED_ON = frozenset({PROMPT, TOOL})
"""Events at which a session can be warned or stopped."""
SECRETS = ("warn", "block")
"""What can be done about secrets."""
TIMEOUT = 1.2  # seconds; the client gives all SessionEnd hooks together 1.5, including Python's start
_LONGEST_TIMEOUT = 600
ANSWER_SECONDS = 2.0  # for the store's answer; then the client goes on without
_CLAIM = 3.0  # seconds for a worker to start
_STEP = 0.01
FAILED = "failed"  # an empty file, dated at the last failure
AGAIN = 60  # seconds after a failure before a hook that is not urgent starts another worker

FOLDER = "hooks"
KEEP, WARM = "keep", "sync"
"""Kinds of request: store the transcript at once, or sync when there is time."""
_TAKEN = ".taken"
INPUT = ".input"
"""The beginning of a hook's input, left by `hand-over.sh`: PID-EVENT.input."""
RUNNING = "running"
"""A file with the worker's process id, touched while it runs."""
SEARCHED = "searched"
"""An empty file, dated when a worker last searched for secrets."""
_LOCK = "lock"
LOG = "hooks.log"
_LOG_BYTES = 64 << 10  # then the log is rotated
_SHOWN = 5  # of its entries
_LONGEST_ENTRY = 600  # characters of an entry


class Options(FastOptions):
    """The options of `hansard hook`; invalid ones are logged, because an exit code of 2 would block the client."""

    FLAGS = ("--work", "--briefing", "--budgets")
    IGNORED = ("--json", "--no-sync", "--no-pager")
    VALUES = (*FastOptions.VALUES, "--timeout", "--secrets")

    def __init__(self) -> None:
        super().__init__()
        self.event = ""
        self.timeout = TIMEOUT
        self.briefing = False
        self.budgets = False
        self.secrets = ""
        self.work = False

    def parse(self, arguments: list[str]) -> None:
        super().parse(arguments)
        self.event, *more = self.words or [""]
        self.mistakes += [f"unexpected argument {word!r}" for word in more]

    def take(self, name: str, text: str) -> bool:
        """Set an option and return whether its value is valid."""
        if name == "--secrets":
            self.secrets = text
            return text in SECRETS
        if name != "--timeout":
            return super().take(name, text)
        try:
            seconds = float(text)
        except ValueError:
            return False
        if not 0 <= seconds <= _LONGEST_TIMEOUT:
            return False
        self.timeout = seconds
        return True


def hook_arguments(arguments: list[str]) -> list[str] | None:
    """The arguments of `hansard hook`, including options before the command's name; None for another command."""
    rest = iter(range(len(arguments)))
    for at in rest:
        if arguments[at] == "hook":
            return arguments[:at] + arguments[at + 1 :]
        if not arguments[at].startswith("-"):
            return None
        if arguments[at] in Options.VALUES:
            next(rest, None)
    return None


def run_fast(arguments: list[str]) -> None:
    """Run and exit; returns if the arguments ask for help."""
    if any(argument in ("-h", "--help") for argument in arguments):
        return
    options = Options()
    options.parse(arguments)
    run(options, sys.stdin)
    leave()


def run(options: Options, stdin: Any) -> None:
    """Handle the event; errors are logged."""
    started = time.monotonic()
    home = ""
    try:
        home = data_directory(options.home, os.environ)
        for mistake in options.mistakes:
            write_log(home, f"{options.event or 'hook'}: {mistake}")
        if options.work:
            from hansard.cli.hook.worker import work

            work(options, home)
        else:
            _answer(options, home, read_input(stdin), started)
    except BaseException as error:  # noqa: BLE001 - an exit code or a traceback would be the client's trouble
        if home:
            write_log(home, f"{options.event or 'hook'}: {type(error).__name__}: {error}")


def _answer(options: Options, home: str, text: bytes, started: float) -> None:
    said = _said(home, options.event, text)
    event = options.event or _text(said, "hook_event_name")
    if event == "SessionStart" and options.briefing:
        from hansard.cli.hook.briefing import offer_briefing

        offer_briefing(home, said)
    if event in ACTED_ON and (options.secrets or options.budgets):
        _instruct(options, home, event, said)
    if event not in KEEPING and event not in WARMING and not (options.budgets and event == PROMPT):
        return
    session_id = _text(said, "session_id")
    if not is_name(session_id):
        session_id = "none"
    is_urgent = event in KEEPING
    failure = os.path.join(home, FOLDER, FAILED)
    failed = date_of(failure)
    request = put_request(home, KEEP if is_urgent else WARM, session_id, _text(said, "transcript_path"))
    if not is_urgent and 0 <= time.time() - failed < AGAIN:
        return
    start_once(worker_lock(home), ["hook", "--work", *options.arguments(home)], _CLAIM)
    if is_urgent:
        while is_pending(request) and date_of(failure) in (failed, 0) and time.monotonic() - started < options.timeout:
            time.sleep(_STEP)


def in_time(ask: Callable[[], _Answer]) -> _Answer | None:
    """What the store answers, unless it takes too long: the client waits for it."""
    import threading

    found: list[_Answer] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            found.append(ask())
        except Exception as error:  # noqa: BLE001 - raised again below, where it is logged
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if failed:
        raise failed[0]
    return found[0] if found else None


def say(text: str) -> None:
    """Tell the client."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _instruct(options: Options, home: str, event: str, said: dict[str, Any]) -> None:
    """Print what the client shall do about secrets and budgets."""
    told: dict[str, Any] = {}
    if options.secrets:
        from hansard.cli.hook.secrets import secret_instructions

        told = secret_instructions(home, event, said, options.secrets)
    if options.budgets:
        from hansard.cli.hook.budgets import budget_instructions

        more = budget_instructions(home, os.path.join(home, FOLDER), event, said)
        messages = [one["systemMessage"] for one in (told, more) if "systemMessage" in one]
        told |= more
        if messages:
            told["systemMessage"] = "\n".join(messages)
    if told:
        from json import dumps

        say(dumps(told) + "\n")


def date_of(path: str) -> float:
    """When a file was last written; 0 if there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def _said(home: str, event: str, text: bytes) -> dict[str, Any]:
    try:
        said = decode(text)
    except (ValueError, TypeError, MemoryError, RecursionError):
        said = None
    if not isinstance(said, dict):
        write_log(home, f"{event or 'hook'}: stdin is not a JSON object ({len(text)} bytes)")
        return {}
    return said


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def worker_lock(home: str) -> ProcessLock:
    return ProcessLock(os.path.join(home, FOLDER, _LOCK))


def put_request(home: str, kind: str, session_id: str, transcript: str) -> str:
    """Write a request file and return its path; it is removed, also with `.taken` appended, once handled."""
    folder = os.path.join(home, FOLDER)
    for place in (home, folder):  # two hooks may create it at once
        os.makedirs(place, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{session_id}.{kind}")
    write_private(path, transcript.encode("utf-8", "replace"))
    return path


def is_pending(path: str) -> bool:
    return os.path.exists(path) or os.path.exists(path + _TAKEN)


def waiting(home: str, kind: str | None = None) -> list[str]:
    """The names of open requests, including those that a worker took before it died."""
    kinds = (KEEP, WARM) if kind is None else (kind,)
    names = os.listdir(os.path.join(home, FOLDER))
    return sorted(name for name in names if name.removesuffix(_TAKEN).rpartition(".")[2] in kinds)


def take_requests(home: str) -> dict[str, str]:
    """Take every request: the transcript of each, by the path to remove once it is handled.

    Taken requests are renamed, so that the same session can make another one meanwhile.
    """
    taken = {}
    for name in waiting(home):
        path = os.path.join(home, FOLDER, name)
        target = path if name.endswith(_TAKEN) else path + _TAKEN
        if target != path:
            os.replace(path, target)
        with open(target, encoding="utf-8", errors="replace") as file:
            taken[target] = file.read(1 << 16)
    return taken


def is_urgent(path: str) -> bool:
    return path.endswith(f".{KEEP}{_TAKEN}")


def write_log(home: str, text: str) -> None:
    """Add an entry, if possible."""
    path = os.path.join(home, LOG)
    line = "".join(sign if sign.isprintable() else " " for sign in text[:_LONGEST_ENTRY])
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            if os.fstat(file.fileno()).st_size > _LOG_BYTES:
                os.replace(path, f"{path}.1")
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            file.write(f"{stamp} {line}\n".encode("utf-8", "replace"))
    except OSError:
        return


def read_log(home: str) -> list[str]:
    """The last entries, the oldest first."""
    try:
        with open(os.path.join(home, LOG), encoding="utf-8", errors="replace") as file:
            return file.read(2 * _LOG_BYTES).splitlines()[-_SHOWN:]
    except OSError:
        return []
