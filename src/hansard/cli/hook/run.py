"""The fast path of `hansard hook`: its options without click, the client's JSON, a request to the process behind, exit code 0."""

from __future__ import annotations

import os
import sys
import time

from hansard.cli.hook.log import write_log
from hansard.directories import data_directory

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from typing import Any, BinaryIO

KEEPING = frozenset({"SessionEnd", "PreCompact"})
"""Events after which the transcript must be safe: the client may delete or compact it."""
WARMING = frozenset(
    {"Stop", "StopFailure", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStop", "PostCompact"}
)
"""Events after which there is something new to index."""
TIMEOUT = 1.2  # seconds; the client gives all SessionEnd hooks together 1.5, and Python takes some of that
_LONGEST_TIMEOUT = 600
_MOST = 4 << 20  # bytes of the client's JSON; what it has beyond that is not needed
_CLAIM = 3.0  # seconds that a worker has for starting
_STEP = 0.01
FAILED = "failed"  # its date is that of the last failure
_AGAIN = 60  # seconds after a failure in which nobody tries again for the index's sake
_WITH_VALUE = ("--home", "--root", "--follow-links", "--timeout", "--color")


class Options:
    """What the options ask for."""

    def __init__(self) -> None:
        self.event = ""
        self.home: str | None = None
        self.roots: list[str] = []
        self.follow_links: list[str] = []
        self.timeout = TIMEOUT
        self.briefing = False
        self.work = False
        self.mistakes: list[str] = []

    def arguments(self, home: str) -> list[str]:
        """The options of the worker."""
        given = [f"--home={home}"]
        given += [f"--root={os.path.abspath(os.path.expanduser(root))}" for root in self.roots]
        return given + [f"--follow-links={os.path.abspath(os.path.expanduser(folder))}" for folder in self.follow_links]


def hook_arguments(arguments: list[str]) -> list[str] | None:
    """The arguments of `hansard hook`, with the options before the command's name; None for another command."""
    rest = iter(range(len(arguments)))
    for at in rest:
        if arguments[at] == "hook":
            return arguments[:at] + arguments[at + 1 :]
        if not arguments[at].startswith("-"):
            return None
        if arguments[at] in _WITH_VALUE:
            next(rest, None)
    return None


def run_fast(arguments: list[str]) -> bool:
    """Do what the arguments say; gives False when they ask for the help page."""
    if any(argument in ("-h", "--help") for argument in arguments):
        return False
    run(parse(arguments), sys.stdin)
    os._exit(0)  # tidying the interpreter up takes as long as all of the above


def parse(arguments: list[str]) -> Options:
    """The options; a mistake is noted and no error, since an exit code of 2 would block what the client is doing."""
    options = Options()
    rest = iter(arguments)
    for argument in rest:
        name, given, value = argument.partition("=")
        if argument in ("--work", "--briefing"):
            setattr(options, argument[2:], True)
        elif name in _WITH_VALUE:
            text = value if given else next(rest, "")
            if not text or not _take(options, name, text):
                options.mistakes.append(f"invalid value {text!r} for {name}")
        elif argument.startswith("-"):
            if argument not in ("--json", "--no-sync", "--no-pager"):
                options.mistakes.append(f"no such option: {name}")
        elif options.event:
            options.mistakes.append(f"unexpected argument {argument!r}")
        else:
            options.event = argument
    return options


def _take(options: Options, name: str, text: str) -> bool:
    if name == "--root":
        options.roots.append(text)
    elif name == "--follow-links":
        options.follow_links.append(text)
    elif name == "--home":
        options.home = text
    elif name == "--timeout":
        try:
            seconds = float(text)
        except ValueError:
            return False
        if not 0 <= seconds <= _LONGEST_TIMEOUT:
            return False
        options.timeout = seconds
    return True


def run(options: Options, stdin: Any) -> None:
    """Do what the event asks for; whatever goes wrong is logged."""
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
            _answer(options, home, _read(stdin), started)
    except BaseException as error:  # noqa: BLE001 - an exit code or a traceback would be the client's trouble
        if home:
            write_log(home, f"{options.event or 'hook'}: {type(error).__name__}: {error}")


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


def _read(stdin: Any) -> bytes:
    """What the client says, as far as it is needed; the rest is read too, or the client would write into a closed pipe."""
    try:
        if stdin.isatty():
            return b""
        stream: BinaryIO = stdin.buffer
        text = stream.read(_MOST)
        while stream.read(_MOST):
            pass
    except (OSError, ValueError, AttributeError):  # closed
        return b""
    return text


def _said(home: str, event: str, text: bytes) -> dict[str, Any]:
    from hansard.cli.fast_json import decode

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


def is_name(text: str) -> bool:
    """Whether a session's id can be the name of a file."""
    return 0 < len(text) <= 64 and text.isascii() and text.replace("-", "").replace("_", "").isalnum()
