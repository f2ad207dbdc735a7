"""Files that a command uses, and hosts that it talks to, as far as its words show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from hansard.shell.commands import Command

Verb = Literal["read", "write", "delete"]


class FileUse(NamedTuple):
    """A file that a command names, and what happens to it."""

    verb: Verb
    path: str


class Address(NamedTuple):
    """A host that a command talks to, and how."""

    host: str
    how: str


_READERS = frozenset(
    "cat head tail less more bat batcat nl xxd od strings base64 tac rev hexdump cut sort uniq column comm paste fold fmt source . type gc"
    " get-content openssl plutil dotenv".split()
)
_GREPS = frozenset("grep egrep fgrep rg ag ack zgrep".split())
_SCRIPTED = frozenset("sed gsed awk gawk mawk jq yq perl".split())
_QUIET = ("-q", "--quiet", "-l", "--files-with-matches", "-c", "--count", "-L")
_GREP_VALUES = frozenset(
    "-A -B -C -m -g -t -T --glob --include --exclude --exclude-dir --type --context --max-count".split()
)
_TRANSFERS = frozenset("scp rsync sftp".split())
_TEXTS = frozenset(
    "echo printf grep egrep fgrep rg ag ack sed awk jq git gh test [ [[ export set cat head tail tee wc sort".split()
)
_URL = re.compile(
    r"(?:https?|wss?|ftps?|ssh|git|rsync|s3|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)://[^\s'\"<>|;)]+",
    re.IGNORECASE,
)
_REMOTE = re.compile(r"(?:([\w.-]+)@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9][\w.-]*):(?!//)(?!\\)")
_HOST = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9_-]*+(?<![_-])\.)*+[A-Za-z0-9][A-Za-z0-9_-]*+(?<![_-])\Z|\[?[0-9a-fA-F:]{2,}\]?\Z"
)
_LOCAL = re.compile(
    r"(?:localhost|[\w.-]*\.(?:local|localhost|internal\.docker)|local|127(?:\.\d+){0,3}|0\.0\.0\.0|::1?|host\.docker\.internal)\Z",
    re.IGNORECASE,
)
_PRIVATE = re.compile(
    r"(?:10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|169\.254(?:\.\d+){2}|f[cd][0-9a-f]{2}:.*)\Z",
    re.IGNORECASE,
)
_DOWNLOADERS = frozenset(
    "curl wget http https xh httpie iwr irm invoke-webrequest invoke-restmethod aria2c fetch lynx".split()
)
_CLIENTS_WITH_HOST = frozenset(
    "psql mysql mysqldump pg_dump pg_restore mariadb redis-cli createdb dropdb mongosh mongo cqlsh clickhouse-client mysqladmin".split()
)
_GIT_REMOTE = frozenset("clone fetch pull push ls-remote".split())


def is_local(host: str) -> bool:
    """Whether a host name means this machine."""
    return _LOCAL.match(host) is not None


def is_private(host: str) -> bool:
    """Whether an address is of a private network, or a name without a domain."""
    return is_local(host) or _PRIVATE.match(host) is not None or ("." not in host and ":" not in host)


def file_uses(command: Command) -> Iterator[FileUse]:
    """The files that a command reads, writes and deletes on this machine."""
    if command.host or command.is_contained:
        return
    for path in command.writes:
        if not path.startswith((">(", "&")):
            yield FileUse("write", path)
    for path in command.reads:
        if not path.startswith("<("):
            yield FileUse("read", path)
    found = _USES.get(command.name)
    if found is not None:
        yield from found(command)


def _read(command: Command) -> Iterator[FileUse]:
    if command.name == "openssl":
        if path := command.value("-in", "-inkey"):
            yield FileUse("read", path)
        if path := command.value("-out"):
            yield FileUse("write", path)
        return
    skip = False
    for arg in command.args:
        if skip or arg[:1] == "-":
            skip = (
                not skip
                and arg in ("-n", "-c", "-k", "-t", "-f", "-d", "-s", "-w")
                and command.name not in ("cat", "less", "bat", "base64")
            )
        else:
            yield FileUse("read", arg)


def _grep(command: Command) -> Iterator[FileUse]:
    if command.has(*_QUIET):
        return
    words = []
    skip = False
    has_pattern = command.has("-e", "-f", "--regexp", "--file", "--files")
    for arg in command.args:
        if skip or (arg[:1] == "-" and arg != "-"):
            skip = not skip and (arg in _GREP_VALUES or arg in ("-e", "-f"))
        else:
            words.append(arg)
    for path in words if has_pattern else words[1:]:
        yield FileUse("read", path)


def _scripted(command: Command) -> Iterator[FileUse]:
    is_changed = command.name in ("sed", "gsed", "perl") and any(
        re.match(r"-[a-zA-Z]*i|--in-place", arg) for arg in command.args
    )
    is_changed |= command.name == "yq" and command.has("-i", "--inplace")
    words = []
    skip = False
    has_script = command.has("-e", "-f", "--expression", "--file", "--from-file") or command.name == "perl"
    for arg in command.args:
        if skip or arg[:1] == "-":
            skip = not skip and arg in ("-e", "-f", "-F", "-v", "--arg", "--argjson", "--slurpfile")
            if not skip and arg == "-i" and command.name == "sed":
                skip = False
        elif arg:
            words.append(arg)
    for path in words if has_script else words[1:]:
        yield FileUse("write" if is_changed else "read", path)


def _copy(command: Command) -> Iterator[FileUse]:
    target = command.value("-t", "--target-directory")
    words = command.operands
    if not target and words:
        words, target = words[:-1], words[-1]
    for path in words:
        if command.name in ("mv", "move", "move-item", "mi"):
            yield FileUse("delete", path)
        elif command.name != "ln":
            yield FileUse("read", path)
    if target:
        yield FileUse("write", target)


def _write(command: Command) -> Iterator[FileUse]:
    for path in command.operands:
        yield FileUse("write", path)


def _delete(command: Command) -> Iterator[FileUse]:
    for path in command.operands:
        yield FileUse("delete", path)


def _transfer(command: Command) -> Iterator[FileUse]:
    words = _transferred(command)
    if len(words) < 2:
        return
    for path in words[:-1]:
        if not _is_remote(path):
            yield FileUse("read", path)
    if not _is_remote(words[-1]):
        yield FileUse("write", words[-1])


def _transferred(command: Command) -> list[str]:
    """The operands of scp, sftp and rsync."""
    values = "-e --rsh --exclude --include --exclude-from --include-from --filter -f --rsync-path --chmod --port --files-from".split()
    taking = values if command.name == "rsync" else "-i -P -F -o -c -l -S -J -D -X".split()
    words = []
    skip = False
    for arg in command.args:
        if skip or (arg[:1] == "-" and arg != "-"):
            skip = not skip and arg in taking
        else:
            words.append(arg)
    return words


def _download(command: Command) -> Iterator[FileUse]:
    path = command.value("-o", "--output", "--output-document", "-OutFile", "-outfile")
    if command.name == "wget":
        path = path or command.value("-O")
    if path not in ("", "-"):
        yield FileUse("write", path)
    for path in uploaded(command):
        yield FileUse("read", path)


def _dd(command: Command) -> Iterator[FileUse]:
    for arg in command.args:
        if arg.startswith("if="):
            yield FileUse("read", arg[3:])
        elif arg.startswith("of="):
            yield FileUse("write", arg[3:])


_USES: dict[str, Callable[[Command], Iterator[FileUse]]] = {
    **dict.fromkeys(_READERS, _read),
    **dict.fromkeys(_GREPS, _grep),
    **dict.fromkeys(_SCRIPTED, _scripted),
    **dict.fromkeys(("cp", "mv", "install", "ln", "copy", "move", "copy-item", "move-item", "ditto"), _copy),
    **dict.fromkeys(
        ("tee", "touch", "mkdir", "truncate", "set-content", "add-content", "out-file", "new-item", "patch"), _write
    ),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "del", "remove-item", "ri", "trash", "rimraf"), _delete),
    **dict.fromkeys(_TRANSFERS, _transfer),
    **dict.fromkeys(_DOWNLOADERS, _download),
    "dd": _dd,
}


def uploaded(command: Command) -> list[str]:
    """The files whose content a command sends."""
    found = []
    if command.name == "curl":
        args = command.args
        for number, arg in enumerate(args):
            value = args[number + 1] if number + 1 < len(args) else ""
            if arg in ("-T", "--upload-file"):
                found.append(value)
            elif arg in (
                "-d",
                "--data",
                "--data-binary",
                "--data-raw",
                "--data-urlencode",
                "--json",
            ) and value.startswith("@"):
                found.append(value[1:])
            elif (arg in ("-F", "--form") and (sent := re.match(r"[^=]*=[@<]([^;]+)", value)) is not None) or (
                sent := re.match(r"(?:--data(?:-binary|-urlencode)?=|-d)@(.+)", arg)
            ) is not None:
                found.append(sent[1])
    elif command.name == "wget":
        found += [path for path in (command.value("--post-file"), command.value("--body-file")) if path]
    elif command.name in _TRANSFERS:
        words = _transferred(command)
        if len(words) > 1 and _is_remote(words[-1]):
            found += [word for word in words[:-1] if not _is_remote(word)]
    elif command.name in ("nc", "ncat", "netcat", "socat") and not command.has("-l", "-z"):
        found += command.reads
    elif command.name in ("iwr", "irm", "invoke-webrequest", "invoke-restmethod") and (
        path := command.value("-InFile", "-infile")
    ):
        found.append(path)
    return [path for path in found if path not in ("-", "")]


def _is_remote(word: str) -> bool:
    found = _REMOTE.match(word)
    return found is not None and "/" not in word[: found.end() - 1] and (len(found[2]) > 1 or found[1] is not None)


def addresses(command: Command) -> Iterator[Address]:
    """The hosts that a command talks to; names of servers that only its configuration has are not among them."""
    name = command.name
    if name in (
        "ssh",
        "autossh",
        "mosh",
        "sftp",
        "ssh-copy-id",
        "telnet",
        "ping",
        "ping6",
        "nc",
        "ncat",
        "netcat",
        "traceroute",
        "ftp",
        "ssh-keyscan",
    ):
        host = _first_host(command)
        if host:
            yield Address(host, name)
        return
    if name in ("dig", "nslookup", "host", "whois"):
        for word in command.operands[:1]:
            if "." in word and _HOST.match(word):
                yield Address(word, name)
        return
    if name in _TRANSFERS:
        for word in _transferred(command):
            if _is_remote(word) and (found := _REMOTE.match(word)) is not None:
                yield Address(found[2], name)
    if name in _CLIENTS_WITH_HOST and (host := command.value("-h", "--host", "--hostname")):
        yield Address(host, name)
    words: list[str] = list(command.args)
    if name == "git":
        verb = next((arg for arg in words if arg in _GIT_REMOTE or arg == "remote"), "")
        if not verb:
            return
        for word in words:
            if not _URL.match(word) and _is_remote(word) and (found := _REMOTE.match(word)) is not None and found[1]:
                yield Address(found[2], f"git {verb}")
    elif name in _DOWNLOADERS:
        words += [
            f"http://{word}"
            for word in command.operands
            if "://" not in word and re.match(r"[\w-]++(?:\.[\w-]++)++(?::\d+)?(?:/|$)|localhost\b", word)
        ]
    elif name in _TEXTS:
        return
    for word in words:
        for url in _URL.findall(word):
            host = host_of(url)
            if host:
                yield Address(host, name if name != "git" else "git")


def _first_host(command: Command) -> str:
    skip = False
    for arg in command.args:
        if skip:
            skip = False
        elif arg[:1] == "-":
            skip = (
                len(arg) == 2
                and arg[1] in "ilpoFJLRDWbcEeImOQSwBPt"
                and command.name in ("ssh", "autossh", "sftp", "ssh-copy-id", "mosh")
            )
            skip |= (
                len(arg) == 2 and arg[1] in "wpqsicWtTI" and command.name in ("nc", "ncat", "netcat", "ping", "ping6")
            )
        else:
            host = (
                host_of(arg)
                if "://" in arg
                else arg.rpartition("@")[2].partition(":")[0]
                if arg.count(":") < 2
                else arg
            )
            return host if _HOST.match(host) and "$" not in host else ""
    return ""


def host_of(url: str) -> str:
    """The host of an address; empty if it has none or it is a variable."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host if _HOST.match(host) and "$" not in host else ""
