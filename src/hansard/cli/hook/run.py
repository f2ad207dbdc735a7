"""The fast path of `hansard hook`: its options without click, the client's JSON, a request to the process behind, exit code 0."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.fast_start import FastOptions, decode, is_name, leave, read_input
from hansard.directories import data_directory

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any

KEEPING = frozenset({"SessionEnd", "PreCompact"})
"""Events after which the transcript must be safe: the client may delete or compact it."""
WARMING = frozenset(
    {"Stop", "StopFailure", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStop", "PostCompact"}
)
"""Events after which there is something new to index."""
TIMEOUT = 1.2  # seconds; the client gives all SessionEnd hooks together 1.5, and Python takes some of that
_LONGEST_TIMEOUT = 600
_CLAIM = 3.0  # seconds that a worker has for starting
_STEP = 0.01
FAILED = "failed"  # its date is that of the last failure
_AGAIN = 60  # seconds after a failure in which nobody tries again for the index's sake


class Options(FastOptions):
    """What the options ask for; a mistake is logged and no error, since an exit code of 2 would block what the client is doing."""

    FLAGS = ("--work", "--briefing")
    IGNORED = ("--json", "--no-sync", "--no-pager")
    VALUES = (*FastOptions.VALUES, "--timeout")

    def __init__(self) -> None:
        super().__init__()
        self.event = ""
        self.timeout = TIMEOUT
        self.briefing = False
        self.work = False

    def parse(self, arguments: list[str]) -> None:
        """Take the arguments of a command line."""
        super().parse(arguments)
        self.event, *more = self.words or [""]
        self.mistakes += [f"unexpected argument {word!r}" for word in more]

    def take(self, name: str, text: str) -> bool:
        """Take the value of an option; returns whether it is valid."""
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
    """The arguments of `hansard hook`, with the options before the command's name; None for another command."""
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
    """Do what the arguments say and exit; returns when they ask for the help page."""
    if any(argument in ("-h", "--help") for argument in arguments):
        return
    options = Options()
    options.parse(arguments)
    run(options, sys.stdin)
    leave()


def run(options: Options, stdin: Any) -> None:
    """Do what the event asks for; whatever goes wrong is logged."""
    started = time.monotonic()
    home = ""
    try:
        home = data_directory(options.home, os.environ)
        for mistake in options.mistakes:
            _log(home, f"{options.event or 'hook'}: {mistake}")
        if options.work:
            from hansard.cli.hook.worker import work

            work(options, home)
        else:
            _answer(options, home, read_input(stdin), started)
    except BaseException as error:  # noqa: BLE001 - an exit code or a traceback would be the client's trouble
        if home:
            _log(home, f"{options.event or 'hook'}: {type(error).__name__}: {error}")


def _log(home: str, text: str) -> None:
    from hansard.cli.hook.log import write_log  # only where something goes wrong

    write_log(home, text)


def _answer(options: Options, home: str, text: bytes, started: float) -> None:
    said = _said(home, options.event, text)
    event = options.event or _text(said, "hook_event_name")
    if event == "SessionStart" and options.briefing:
        from hansard.cli.hook.briefing import offer_briefing

        offer_briefing(home, said)
    if event not in KEEPING and event not in WARMING:
        return
    from hansard.cli.background import start_once
    from hansard.cli.hook.requests import FOLDER, KEEP, WARM, is_pending, put_request, worker_lock

    session_id = _text(said, "session_id")
    if not is_name(session_id):
        session_id = "none"
    is_urgent = event in KEEPING
    failure = os.path.join(home, FOLDER, FAILED)
    failed = _date(failure)
    request = put_request(home, KEEP if is_urgent else WARM, session_id, _text(said, "transcript_path"))
    if not is_urgent and 0 <= time.time() - failed < _AGAIN:
        return
    start_once(worker_lock(home), ["hook", "--work", *options.arguments(home)], _CLAIM)
    if is_urgent:
        while is_pending(request) and _date(failure) in (failed, 0) and time.monotonic() - started < options.timeout:
            time.sleep(_STEP)


def _date(path: str) -> float:
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
        _log(home, f"{event or 'hook'}: stdin is not a JSON object ({len(text)} bytes)")
        return {}
    return said


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""
