"""Programs that run other commands: how each one's arguments name what it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, field

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "busybox"})
POWERSHELLS = frozenset({"powershell", "pwsh"})


class Run(Struct, frozen=True):
    """The command that a command runs: its words, or a text with several."""

    words: list[str] = field(default_factory=list)
    script: str = ""
    label: str = ""
    keeps: bool = False  # the running command is of interest too
    host: str = ""
    is_contained: bool = False
    has_more_args: bool = False
    folder: str = ""
    env: tuple[tuple[str, str], ...] = ()


Runner = Callable[[str, list[str], str], "Run | None"]


def _after_options(args: Sequence[str], with_value: str = "", long_with_value: str = "") -> int:
    """The number of leading arguments that are options; some take the next word."""
    taking = {f"-{letter}" for letter in with_value} | {f"--{name}" for name in long_with_value.split()}
    number = 0
    while number < len(args):
        arg = args[number]
        if arg == "--":
            return number + 1
        if arg[:1] != "-" or arg == "-":
            return number
        number += (
            2
            if arg in taking or (arg[:2] != "--" and len(arg) > 2 and f"-{arg[-1]}" in taking and arg[1:].isalpha())
            else 1
        )
    return number


def _prefix(with_value: str = "", long: str = "", positional: int = 0) -> Runner:
    def run(name: str, args: list[str], _stdin: str) -> Run | None:
        rest = args[_after_options(args, with_value, long) + positional :]
        env = []
        while rest and re.match(r"[A-Za-z_]\w*=", rest[0]):
            key, _, value = rest.pop(0).partition("=")
            env.append((key, value))
        return Run(rest, label=name, env=tuple(env)) if rest else None

    return run


def _xargs(name: str, args: list[str], _stdin: str) -> Run | None:
    rest = args[_after_options(args, "InPLdaEs", "max-args max-procs replace arg-file delimiter max-lines") :]
    return Run(rest, label=name, has_more_args=True) if rest else None


def _shell(name: str, args: list[str], _stdin: str) -> Run | None:
    is_value = False
    for number, arg in enumerate(args):
        if is_value:
            is_value = False
            continue
        if arg[:1] != "-" and arg[:1] != "+":
            return None
        is_value = arg in ("--rcfile", "--init-file") or (arg[:2] != "--" and arg[-1] in "oO" and "c" not in arg)
        if arg[:2] != "--" and arg[:1] == "-" and "c" in arg[1:] and number + 1 < len(args):
            rest = args[number + 1 :]
            while rest and rest[0] in ("-o", "-e", "-u", "-x", "pipefail", "--"):
                rest = rest[1:]
            return Run(script=rest[0], label=f"{name} -c") if rest else None
    return None


def _powershell(name: str, args: list[str], _stdin: str) -> Run | None:
    for number, arg in enumerate(args):
        if arg.lower() in ("-command", "-c") and number + 1 < len(args):
            return Run(script=" ".join(args[number + 1 :]), label=name, keeps=True)
    if args and args[0][:1] not in ("-", "/") and not args[0].lower().endswith(".ps1"):
        return Run(script=" ".join(args), label=name)
    return None


def _cmd(name: str, args: list[str], _stdin: str) -> Run | None:
    if args and args[0].lower() in ("/c", "/k", "//c", "//k"):
        return Run(script=" ".join(args[1:]), label=name)
    return None


def _eval(name: str, args: list[str], _stdin: str) -> Run | None:
    script = " ".join(args)
    return Run(script=script, label=name, keeps=True) if script else None


def _su(name: str, args: list[str], _stdin: str) -> Run | None:
    for number, arg in enumerate(args):
        if arg in ("-c", "--command") and number + 1 < len(args):
            return Run(script=args[number + 1], label=name)
    return None


def _ssh(name: str, args: list[str], stdin: str) -> Run | None:
    number = _after_options(args, "ilpoFJLRDWbcEeImOQSwB", "")
    if number >= len(args):
        return None
    host, rest = args[number], args[number + 1 :]
    while rest and rest[0][:1] == "-":  # options after the host
        rest = rest[_after_options(rest, "ilpoFJLRDWbcEeImOQSwB") or 1 :]
    return Run(script=" ".join(rest) or stdin, label=name, host=host, keeps=True)


_DOCKER_VALUES = (
    "name network entrypoint mount env-file hostname platform cpus volume publish env user workdir label add-host gpus shm-size restart"
    " pull memory ulimit security-opt cap-add cap-drop device link dns log-driver log-opt pid ipc userns tmpfs context host file"
    " project-name profile project-directory expose group-add ip mac-address net runtime stop-signal stop-timeout sysctl volumes-from"
    " cidfile index"
)


def _docker(name: str, args: list[str], _stdin: str) -> Run | None:
    number = _after_options(args, "Hcfp", _DOCKER_VALUES)
    words = args[number:]
    if words[:1] == ["compose"]:
        words = words[1:]
        words = words[_after_options(words, "fp", _DOCKER_VALUES) :]
    if words[:1] == ["container"]:
        words = words[1:]
    if not words or words[0] not in ("exec", "run"):
        return None
    rest = words[1:]
    rest = rest[_after_options(rest, "vpeuwmhl", _DOCKER_VALUES) :]
    return Run(rest[1:], label=name, is_contained=True, keeps=True)


def _kubectl(name: str, args: list[str], _stdin: str) -> Run | None:
    if "exec" in args[:8] and "--" in args:
        return Run(args[args.index("--") + 1 :], label=name, is_contained=True, keeps=True)
    return None


def _find(name: str, args: list[str], _stdin: str) -> Run | None:
    for number, arg in enumerate(args):
        if arg in ("-exec", "-execdir", "-ok"):
            words = args[number + 1 :]
            end = next((place for place, word in enumerate(words) if word in (";", "+")), len(words))
            return Run([word for word in words[:end] if word != "{}"], label=name, keeps=True, has_more_args=True)
    return None


def _npx(name: str, args: list[str], _stdin: str) -> Run | None:
    if name in ("pnpm", "yarn", "bun", "npm"):
        if args[:1] not in (["exec"], ["dlx"], ["x"]):
            return None
        args = args[1:]
    rest = args[_after_options(args, "pc", "package call") :]
    return Run(rest, label=name) if rest and "@" not in rest[0][1:] else None


def _tool_run(name: str, args: list[str], _stdin: str) -> Run | None:
    """`uv run`, `poetry run`, `bundle exec` and the like."""
    number = next((place for place, arg in enumerate(args) if arg in ("run", "exec")), None)
    if number is None or any(arg[:1] != "-" for arg in args[:number]):
        return None
    rest = args[number + 1 :]
    rest = rest[_after_options(rest, "np", "with python extra group name env-file project directory") :]
    return Run(rest, label=name) if rest else None


def _script_option(*options: str) -> Runner:
    def run(name: str, args: list[str], _stdin: str) -> Run | None:
        for number, arg in enumerate(args):
            if arg in options and number + 1 < len(args):
                return Run(script=args[number + 1], label=name, keeps=True)
        return None

    return run


def _gcloud(name: str, args: list[str], _stdin: str) -> Run | None:
    if args[:2] != ["compute", "ssh"]:
        return None
    script = next((arg.partition("=")[2] for arg in args if arg.startswith("--command=")), "")
    host = next((arg for arg in args[2:] if arg[:1] != "-"), "")
    return Run(script=script, label=f"{name} ssh", host=host, keeps=True)


def _git(name: str, args: list[str], _stdin: str) -> Run | None:
    if args[:2] == ["bisect", "run"]:
        return Run(args[2:], label=f"{name} bisect", keeps=True)
    if args[:2] == ["submodule", "foreach"]:
        return Run(
            script=" ".join(arg for arg in args[2:] if arg != "--recursive"), label=f"{name} submodule", keeps=True
        )
    if "rebase" in args[:3]:
        return _script_option("--exec", "-x")(name, args, _stdin)
    return None


def _tmux(name: str, args: list[str], _stdin: str) -> Run | None:
    if args[:1] and args[0] in ("send-keys", "send"):
        rest = args[1:]
        rest = rest[_after_options(rest, "tN") :]
        return Run(script=" ".join(word for word in rest if word not in ("Enter", "C-m", "C-c")), label=name)
    if args[:1] and args[0] in ("new-session", "new", "new-window", "neww", "split-window"):
        rest = args[1:]
        rest = rest[_after_options(rest, "tnscxyeFf") :]
        return Run(script=" ".join(rest), label=name) if rest else None
    return None


def _env(name: str, args: list[str], stdin: str) -> Run | None:
    if "-S" in args and args.index("-S") + 1 < len(args):
        return Run(script=" ".join(args[args.index("-S") + 1 :]), label=name)
    return _prefix("uC", "unset chdir")(name, args, stdin)


RUNNERS: dict[str, Runner] = {
    "sudo": _prefix("ughpCrtTUD", "user group host prompt chdir"),
    "doas": _prefix("uC"),
    "pkexec": _prefix("", "user"),
    "gsudo": _prefix(),
    "env": _env,
    "nohup": _prefix(),
    "rtk": lambda name, args, stdin: (
        None if args[:1] in (["gain"], ["init"], ["config"]) else _prefix()(name, args, stdin)
    ),
    "time": _prefix("fo"),
    "gtime": _prefix("fo"),
    "nice": _prefix("n", "adjustment"),
    "ionice": _prefix("cnp"),
    "timeout": _prefix("sk", "signal kill-after", 1),
    "gtimeout": _prefix("sk", "signal kill-after", 1),
    "stdbuf": _prefix("ioe"),
    "setsid": _prefix(),
    "command": lambda name, args, stdin: None if args[:1] in (["-v"], ["-V"]) else _prefix()(name, args, stdin),
    "builtin": _prefix(),
    "exec": _prefix("a"),
    "caffeinate": _prefix("tw"),
    "chronic": _prefix(),
    "unbuffer": _prefix(),
    "strace": _prefix("eopsS"),
    "flock": _prefix("wEc", "timeout", 1),
    "chroot": _prefix("", "userspec groups", 1),
    "firejail": _prefix(),
    "doppler": _tool_run,
    "uv": _tool_run,
    "poetry": _tool_run,
    "pipenv": _tool_run,
    "pdm": _tool_run,
    "rye": _tool_run,
    "hatch": _tool_run,
    "bundle": _tool_run,
    "conda": _tool_run,
    "mamba": _tool_run,
    "xargs": _xargs,
    "parallel": _xargs,
    "powershell": _powershell,
    "pwsh": _powershell,
    "cmd": _cmd,
    "eval": _eval,
    "su": _su,
    "script": _script_option("-c", "--command"),
    "ssh": _ssh,
    "autossh": _ssh,
    "docker": _docker,
    "podman": _docker,
    "nerdctl": _docker,
    "docker-compose": lambda name, args, stdin: _docker(name, ["compose", *args], stdin),
    "kubectl": _kubectl,
    "oc": _kubectl,
    "find": _find,
    "npx": _npx,
    "bunx": _npx,
    "pnpm": _npx,
    "yarn": _npx,
    "bun": _npx,
    "npm": _npx,
    "gcloud": _gcloud,
    "git": _git,
    "tmux": _tmux,
    "watch": lambda name, args, _stdin: Run(script=" ".join(args[_after_options(args, "n", "interval") :]), label=name),
    "trap": lambda name, args, _stdin: (
        Run(script=args[0], label=name) if args[:1] and args[0] not in ("-", "", "--") else None
    ),
    "wsl": _prefix("du", "distribution user"),
    **dict.fromkeys(SHELLS, _shell),
}
