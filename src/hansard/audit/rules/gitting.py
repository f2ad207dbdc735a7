"""Rules for `git` and `gh`: published and uncommitted work, hooks, reviews."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hansard.audit.paths import Scene
from hansard.audit.rules.deleting import judge_tree
from hansard.shell.commands import Command

Found = Iterator[tuple[str, str]]

_DEFAULT = re.compile(
    r"(?:refs/heads/)?(?:main|master|trunk|develop|development|production|prod|staging|release(?:[/-].*)?|stable|gh-pages)$"
)
_GLOBAL_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")


class Git(NamedTuple):
    """A git command: its subcommand, its arguments and the configuration that it is given."""

    verb: str
    args: tuple[str, ...]
    config: tuple[str, ...]


def read_git(command: Command) -> Git:
    """The parts of a git command line."""
    config = []
    number = 0
    while number < len(command.args) and command.args[number][:1] == "-":
        if command.args[number] in _GLOBAL_WITH_VALUE:
            if command.args[number] == "-c" and number + 1 < len(command.args):
                config.append(command.args[number + 1])
            number += 1
        number += 1
    verb = command.args[number] if number < len(command.args) else ""
    return Git(verb, command.args[number + 1 :], tuple(config))


def git(command: Command, scene: Scene) -> Found:
    """All rules about git."""
    verb, args, config = read_git(command)
    rest = Command("git", args)
    said = " ".join((verb, *args))[:4_096]
    if verb == "rm":
        if rest.has("-r") and not rest.has("--cached", "-n", "--dry-run"):
            for target in rest.operands:
                yield from judge_tree(target, command, scene)
    elif verb in _JUDGES:
        yield from _JUDGES[verb](verb, rest, said)
    yield from _checks(verb, rest, config, command, said)


def _loses(rest: Command, verb: str) -> str:
    """The rule about a command that throws something away."""
    first = rest.args[:1]
    if verb == "reset" and rest.has("--hard"):
        return "discard-changes"
    if verb == "clean" and rest.has("-f", "--force") and not rest.has("-n", "--dry-run", "-i"):
        return "discard-changes"
    if verb == "stash" and first in (("drop",), ("clear",)):
        return "discard-changes"
    is_rewrite = (
        verb in ("filter-branch", "filter-repo", "replace")
        or (verb == "reflog" and first in (("expire",), ("delete",)))
        or (verb in ("gc", "prune") and rest.has("--prune=now", "--prune=all"))
        or (verb == "update-ref" and rest.has("-d"))
    )
    if is_rewrite:
        return "rewrite-history"
    is_forced = rest.has("-f", "--force")
    if verb == "branch" and (rest.has("-D") or (rest.has("-d", "--delete") and is_forced)):
        return "delete-branch"
    return "delete-branch" if verb == "worktree" and first == ("remove",) and is_forced else ""


def _lose(verb: str, rest: Command, said: str) -> Found:
    if rule := _loses(rest, verb):
        yield rule, said


def _push(_verb: str, rest: Command, said: str) -> Found:
    if rest.has("-n", "--dry-run"):
        return
    targets = rest.operands[1:]
    if rest.has("-d", "--delete") or any(target.startswith(":") and len(target) > 1 for target in targets):
        yield "delete-remote-branch", said
        return
    is_forced = rest.has("-f", "--force", "--force-with-lease", "--force-if-includes")
    plus = [target for target in targets if target.startswith("+")]
    if rest.has("--mirror"):
        yield "force-push-default", said
    elif is_forced or plus:
        goals = [target.lstrip("+").rpartition(":")[2] for target in (targets if is_forced else plus)]
        is_default = any(_DEFAULT.match(goal) for goal in goals) or rest.has("--all", "--branches")
        yield ("force-push-default" if is_default else "force-push"), said


def _checkout(verb: str, rest: Command, said: str) -> Found:
    if verb == "restore":
        if rest.has("--staged", "-S") and not rest.has("--worktree", "-W"):
            return
        yield _all_or_some(rest.operands), said
    elif verb == "switch":
        if rest.has("-f", "--force", "--discard-changes"):
            yield "discard-changes", said
    elif rest.has("-b", "-B", "--orphan", "-p", "--patch", "--track"):
        return
    elif "--" in rest.args:
        paths = rest.args[rest.args.index("--") + 1 :]
        if paths:
            yield _all_or_some(list(paths)), said
    elif rest.has("-f", "--force") or "." in rest.operands:
        yield "discard-changes", said
    elif len(rest.operands) > 1 or (
        rest.operands and re.search(r"\.[a-z]{1,5}$", rest.operands[-1]) and not re.match(r"v?\d", rest.operands[-1])
    ):
        yield "discard-file", said


def _all_or_some(paths: list[str]) -> str:
    return "discard-changes" if any(path in (".", "./", ":/", "*", ":") for path in paths) else "discard-file"


def _config(_verb: str, rest: Command, said: str) -> Found:
    if (
        rest.has("--get", "--get-all", "--list", "-l", "--unset", "--get-regexp", "--show-origin")
        or len(rest.operands) < 2
    ):
        return
    if rest.operands[0] in ("get", "list"):
        return
    key, value = rest.operands[-2].lower(), rest.operands[-1].lower()
    if key == "http.sslverify" and value in ("false", "0", "no"):
        yield "insecure-transport", said
    elif key == "core.hookspath" and value in ("/dev/null", ""):
        yield "skip-hooks", said
    elif rest.has("--global", "--system"):
        yield "write-startup", said


_HOOKED = frozenset({"commit", "push", "merge", "cherry-pick", "revert", "rebase", "am", "pull"})


def _checks(verb: str, rest: Command, config: tuple[str, ...], command: Command, said: str) -> Found:
    if verb in _HOOKED:
        is_short = verb == "commit" and rest.has("-n") and not _is_message_option(rest)
        if (
            rest.has("--no-verify")
            or is_short
            or any(item.lower().startswith("core.hookspath=") for item in config)
            or any(command.variable(name) == "0" for name in ("HUSKY", "LEFTHOOK", "PRE_COMMIT"))
            or command.variable("SKIP")
            or command.variable("HUSKY_SKIP_HOOKS") == "1"
        ):
            yield "skip-hooks", said
    if rest.has("--no-gpg-sign") or any(
        item.lower() in ("commit.gpgsign=false", "tag.gpgsign=false") for item in config
    ):
        yield "skip-signature", said
    if any(re.match(r"http\.(?:\S+\.)?sslverify=(?:false|0|no)", item.lower()) for item in config):
        yield "insecure-transport", said
    if command.variable("GIT_SSL_NO_VERIFY") in ("1", "true"):
        yield "insecure-transport", said


def _is_message_option(rest: Command) -> bool:
    """Whether the `n` belongs to a word that is the value of another option, as in `-m -n`."""
    return not any(re.fullmatch(r"-[a-z]*n[a-z]*", arg) for arg in rest.args if arg[:2] != "--")


def github(command: Command, _scene: Scene) -> Found:
    """Reviews, protections and secrets on GitHub."""
    said = command.said
    if (re.match(r"pr merge\b", said) and command.has("--admin")) or (
        re.match(r"pr review\b", said) and command.has("-a", "--approve")
    ):
        yield "bypass-review", said
    elif (
        re.match(r"api\b", said)
        and re.search(r"/(?:protection|rulesets?)\b", said)
        and re.search(r"(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH)", said)
    ):
        yield "disable-protection", said
    elif re.match(r"gist create\b", said) and command.operands[2:]:
        yield "upload", said


_JUDGES: dict[str, Callable[[str, Command, str], Found]] = {
    "push": _push,
    "config": _config,
    **dict.fromkeys(("checkout", "switch", "restore"), _checkout),
    **dict.fromkeys(
        (
            "reset",
            "clean",
            "stash",
            "filter-branch",
            "filter-repo",
            "replace",
            "reflog",
            "gc",
            "prune",
            "update-ref",
            "branch",
            "worktree",
        ),
        _lose,
    ),
}
BY_PROGRAM = {"git": (git,), "gh": (github,)}
