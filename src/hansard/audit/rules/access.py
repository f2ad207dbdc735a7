"""Rights, credentials, and files outside of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.audit.paths import Scene, is_agent_settings, is_history, is_startup_file, private_file, secret_file
from hansard.shell.commands import Command
from hansard.shell.operations import FileUse, file_uses

Found = Iterator[tuple[str, str]]

_SUPERUSERS = frozenset({"sudo", "doas", "su", "pkexec", "gsudo", "runas"})
_OPEN = re.compile(r"(?:[0-7]?[0-7][0-7][2367]|(?:[ug]*+[oa][ugoa]*+)?\+[rx]*+w[rwx]*+)$")
_SETUID = re.compile(r"[2467][0-7]{3}$|[ug]*\+[rwx]*s")
_SECRET_NAME = re.compile(
    r"\$\{?\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIALS?)\w*\}?", re.IGNORECASE
)
_PRINTERS = (
    ("gh", r"^auth token\b|^auth status\b.*(?:-t|--show-token)\b"),
    ("aws", r"\b(?:get-secret-value|get-session-token|assume-role|get-authorization-token|get-login-password|ecr get-login|export-credentials)\b|\bget-parameters?\b.*--with-decryption|\bconfigure get \S*(?:secret|key|token)"),
    ("gcloud", r"\bauth (?:application-default )?print-(?:access|identity)-token\b|\bsecrets versions access\b"),
    ("az", r"\baccount get-access-token\b|\bkeyvault secret show\b|\bkeys list\b"),
    ("vault", r"^(?:kv get|read|print token)\b"),
    ("op", r"^(?:read|item get|inject)\b"),
    ("bw", r"^get (?:password|item|totp)\b"),
    ("pass", r"^(?:show )?[\w-]+/"),
    ("security", r"^find-(?:generic|internet)-password\b.*(?:-w|-g)\b|^dump-keychain\b"),
    ("kubectl", r"^(?>.*?\bget secrets?\b).*(?:-o|--output)[ =]?(?:yaml|json|jsonpath|go-template)"),
    ("heroku", r"^config(?::get)?\b(?!:)"),
    ("doppler", r"^secrets(?: (?:get|download))?\b"),
    ("npm", r"^token (?:list|create)\b|^config get .*_authToken"),
    ("vercel", r"^env pull\b"),
    ("secret-tool", r"^lookup\b"),
    ("gpg", r"--export-secret-keys?\b"),
    ("railway", r"^variables\b"),
    ("supabase", r"^status\b.*-o env|^projects api-keys\b"),
)  # fmt: skip
_NOT_SHOWN = re.compile(r"^\$\{#|:\+|^\$\{\w+\+")


def every(command: Command, scene: Scene) -> Found:
    """Rules about any program: who runs it, and what it does to files."""
    used = next((name for name in command.via if name in _SUPERUSERS), "")
    if used and command.name not in ("true", ""):
        yield "superuser", f"{used} {command.name}"
    if command.host or command.is_contained:
        return
    for use in file_uses(command):
        yield from judge_file(use, command.folder, scene)


def judge_file(use: FileUse, folder: str | None, scene: Scene) -> Found:
    """Rules about a file that a command or tool uses."""
    path = scene.absolute(use.path, folder) or use.path
    if use.verb == "read":
        if what := private_file(path):
            yield "read-private", f"{what}: {use.path}"
        elif what := secret_file(path):
            yield "read-secrets", f"{what}: {use.path}"
        return
    if "$" in path:
        return
    if is_agent_settings(path):
        yield "agent-settings", use.path
    elif is_history(path):
        yield "erase-traces", use.path
    elif is_startup_file(path):
        yield "write-startup", use.path
    else:
        kind = scene.kind(path if path.startswith(("/", "~")) or ":" in path[:3] else None)
        if kind == "system":
            yield "write-system", use.path
        elif kind in ("outside", "home", "above"):
            yield "write-outside", use.path


def superusers(command: Command, _scene: Scene) -> Found:
    """A shell of another user."""
    if not command.has("-v", "-l", "-k", "-K", "-V", "--version", "--help", "--validate", "--list"):
        yield "superuser", " ".join((command.name, *command.args))


def modes(command: Command, _scene: Scene) -> Found:
    """Who may write a file, and with whose rights it runs."""
    mode = next((arg for arg in command.args if arg[:1] != "-" or re.match(r"-[rwxst]+$", arg)), "")
    if (_SETUID.match(mode) and command.name == "chmod") or command.name == "setcap":
        yield "setuid", command.said
    elif (
        command.name == "chmod"
        and _OPEN.match(mode)
        and not command.is_contained
        and not (mode.startswith("+") and "a" not in mode)
    ):
        yield "open-permissions", command.said


def containers(command: Command, _scene: Scene) -> Found:
    """Containers with the rights of the machine."""
    said = command.said
    if re.search(r"\b(?:run|create)\b", said) and (
        command.has("--privileged")
        or re.search(r"(?:-v|--volume)[ =](?:/:|/var/run/docker\.sock:)|source=/,|--pid[ =]host\b|docker\.sock:/", said)
    ):
        yield "privileged-container", said


def users(command: Command, _scene: Scene) -> Found:
    """Accounts and groups."""
    said = command.said
    if command.is_contained:
        return
    if command.name == "net":
        if re.match(r"(?:user|localgroup)\b.*/add\b", said):
            yield "users-and-groups", f"net {said}"
    elif command.name == "dscl":
        if re.search(r"-(?:create|append|passwd|delete)\b", said):
            yield "users-and-groups", f"dscl {said}"
    elif command.name != "passwd" or command.host or "--status" not in command.args:
        yield "users-and-groups", f"{command.name} {said}".strip()


def schedules(command: Command, _scene: Scene) -> Found:
    """Things that run later."""
    said = command.said
    match command.name:
        case "crontab":
            if not command.has("-l") and command.args:
                yield "schedule", f"crontab {said}"
        case "systemctl":
            verb = next(iter(command.operands), "")
            if verb in ("enable", "link", "edit", "mask", "disable") or (verb == "set-property"):
                yield "schedule", f"systemctl {said}"
            elif verb in ("stop", "kill") and re.search(r"firewalld|ufw|apparmor|fail2ban|auditd|falco|clamav", said):
                yield "disable-protection", f"systemctl {said}"
            elif verb in ("reboot", "poweroff", "halt"):
                yield "stop-system", f"systemctl {said}"
        case "launchctl":
            if command.operands[:1] and command.operands[0] in ("load", "bootstrap", "enable", "submit"):
                yield "schedule", f"launchctl {said}"
        case "schtasks":
            if any(arg.lower() in ("/create", "//create") for arg in command.args):
                yield "schedule", f"schtasks {said}"
        case "at" | "batch":
            if command.args and not command.has("-l", "-V"):
                yield "schedule", f"{command.name} {said}"


def secrets(command: Command, _scene: Scene) -> Found:
    """Programs that print secrets when asked."""
    said = command.said
    if command.name in ("echo", "printf"):
        shown = [found[0] for found in _SECRET_NAME.finditer(said) if not _is_hidden(said, found)]
        if shown and not command.writes:
            yield "print-secret", ", ".join(shown)
        return
    if command.name == "printenv":
        if any(_SECRET_NAME.match(f"${arg}") for arg in command.args):
            yield "print-secret", said
        return
    pattern = next((pattern for name, pattern in _PRINTERS if name == command.name), "")
    if pattern and re.search(pattern, said) and "--help" not in command.args:
        yield "print-secret", f"{command.name} {said}"


def _is_hidden(said: str, found: re.Match[str]) -> bool:
    """Whether an expansion gives only whether the variable is set, its length or a few characters."""
    start = said.rfind("${", 0, found.end())
    whole = (
        said[start : said.find("}", start) + 1] if start >= 0 and said.find("}", start) >= found.end() - 1 else found[0]
    )
    return _NOT_SHOWN.search(whole) is not None or re.match(r"\$\{\w+:\d+:\d+\}|\$\{\w+:0:\d+", whole) is not None


def settings(command: Command, _scene: Scene) -> Found:
    """Protections of the machine."""
    said = command.said
    name = command.name
    if (
        (name == "setenforce" and command.args[:1] in (("0",), ("permissive",)))
        or (name == "ufw" and command.args[:1] in (("disable",), ("reset",)))
        or (
            name in ("iptables", "ip6tables", "nft") and (command.has("-F", "--flush", "-X") or "flush ruleset" in said)
        )
        or (name == "spctl" and command.has("--master-disable", "--global-disable"))
        or (name == "csrutil" and command.args[:1] == ("disable",))
        or (name == "xattr" and command.has("-d", "-c", "-r") and ("quarantine" in said or command.has("-c")))
        or (name == "set-mppreference" and re.search(r"(?i)-Disable\w+ +(?:\$?true|1)", said))
        or (name == "set-executionpolicy" and re.search(r"(?i)\b(?:bypass|unrestricted)\b", said))
        or (name == "netsh" and "firewall" in said.lower() and re.search(r"(?i)\boff\b", said))
        or (name == "auditctl" and command.args[:2] == ("-e", "0"))
        or (name == "sysctl" and re.search(r"kernel\.(?:randomize_va_space|yama\.ptrace_scope)=0", said))
    ):
        yield "disable-protection", f"{name} {said}"


def traces(command: Command, _scene: Scene) -> Found:
    """Histories of shells."""
    if (
        command.name == "history"
        and command.has("-c", "-d", "-w")
        and not command.feeds
        and command.args[0] in ("-c", "-cw", "-d")
    ):
        yield "erase-traces", "history -c"
    elif command.name == "unset" and "HISTFILE" in command.args:
        yield "erase-traces", "unset HISTFILE"
    elif command.name in ("export", "set") and any(
        re.match(r"HIST(?:FILE|SIZE)=(?:/dev/null|0)?$", arg) for arg in command.args
    ):
        yield "erase-traces", command.said


BY_PROGRAM = {
    **dict.fromkeys(_SUPERUSERS, (superusers,)),
    **dict.fromkeys(("chmod", "setcap"), (modes,)),
    **dict.fromkeys(("docker", "podman", "nerdctl"), (containers,)),
    **dict.fromkeys(
        "useradd userdel usermod groupadd groupmod gpasswd adduser deluser addgroup visudo passwd chpasswd net dscl".split(), (users,)
    ),
    **dict.fromkeys(("crontab", "systemctl", "launchctl", "schtasks", "at", "batch"), (schedules,)),
    **dict.fromkeys(("echo", "printf", "printenv", *(name for name, _ in _PRINTERS)), (secrets,)),
    **dict.fromkeys(
        "setenforce ufw iptables ip6tables nft spctl csrutil xattr set-mppreference set-executionpolicy netsh auditctl sysctl".split(),
        (settings,),
    ),
    **dict.fromkeys(("history", "unset", "export", "set"), (traces,)),
}  # fmt: skip
