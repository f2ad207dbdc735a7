"""Deletions: files and folders, devices, databases, infrastructure, containers, processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.audit.paths import Scene, is_build_output, is_history
from hansard.shell.commands import Command

Found = Iterator[tuple[str, str]]

_SQL_DROP = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|keyspace|collection|owned)|truncate\s+(?:table\s+)?[\w\"`.]+|dropDatabase\s*\(|\.drop\s*\(\s*\))",
    re.IGNORECASE,
)
_SQL_DELETE = re.compile(r"\b(?:delete\s+from|update)\s+[\w\"`.\[\]]+(?:\s+set\s+[^;]*)?", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)
_TEST_DATABASE = re.compile(r"(?:^|[\W_])(?:test|tests|testing|ci|tmp|temp|scratch|e2e)(?:[\W_\d]|$)", re.IGNORECASE)
_TEST_VARIABLES = ("MIX_ENV", "RAILS_ENV", "RACK_ENV", "NODE_ENV", "APP_ENV", "DJANGO_ENV", "ENV")
_MOST_SQL = 20_000  # characters of a here-document
SQL_PROGRAMS = frozenset(
    "psql mysql mariadb sqlite3 sqlite mongosh mongo clickhouse-client clickhouse duckdb bq sqlcmd cockroach cqlsh mycli pgcli"
    " libsql turso wrangler usql".split()
)
_RESETS = re.compile(
    r"^(?:db:(?:drop|reset|wipe|schema:load|migrate:reset)|db:drop:all|ecto\.(?:drop|reset)|migrate:(?:fresh|reset)|migrate reset|db push --force-reset"
    r"|db push --accept-data-loss|flush|reset_db|downgrade base|schema:drop|db reset|migrate:rollback --all|drop-all)\b"
)
_RESETTERS = frozenset(
    "prisma rails rake mix manage.py django-admin alembic sequelize sequelize-cli knex typeorm artisan php supabase drizzle-kit diesel"
    " sqlx ecto flask python python3 node bun deno".split()
)


def files(command: Command, scene: Scene) -> Found:
    """`rm -r` and its like."""
    if not _is_recursive(command):
        for path in command.operands:
            if is_history(path):
                yield "erase-traces", path
        return
    targets = command.operands
    if command.name in ("remove-item", "ri", "del", "rd"):
        targets = [
            arg
            for arg in targets
            if arg.lower() not in ("-recurse", "-force") and not re.match(r"/[a-z]$", arg, re.IGNORECASE)
        ]
    if command.has_more_args and not targets:
        return
    for target in targets:
        yield from judge_tree(target, command, scene)


def _is_recursive(command: Command) -> bool:
    if command.name in ("rmdir", "rd", "del", "erase"):
        return any(arg.lower() in ("/s", "//s", "-recurse") for arg in command.args)
    if command.name in ("remove-item", "ri"):
        return any(arg.lower().startswith("-r") for arg in command.args)
    if command.name == "git":
        return command.has("-r")
    return command.has("-r", "-R", "--recursive", "--no-preserve-root") or command.name in ("rimraf", "trash")


def judge_tree(target: str, command: Command, scene: Scene) -> Found:
    if is_history(target):
        yield "erase-traces", target
        return
    if command.is_contained:
        return
    if command.host:
        yield "delete-outside", f"{target} on {command.host}"
        return
    if re.match(r"\$(?:\w+|\{\w+\})(?:/\.?\*|/)*+$", target) and "/" in target:
        yield "delete-unknown", target
        return
    path = scene.absolute(target, command.folder)
    kind = scene.kind(path)
    if kind in ("root", "home", "above", "project"):
        if kind == "project" and path is not None and command.folder != path and "worktree" in path:
            return
        yield "delete-everything", target
    elif kind == "inside" and path is not None:
        if path.endswith("/.git"):
            yield "delete-everything", target
        elif not is_build_output(target) and not is_build_output(_relative(path, scene)):
            yield "delete-inside", target
    elif kind in ("system", "outside"):
        if (
            kind == "outside"
            and path is not None
            and re.search(
                r"/(?:node_modules|\.cache|caches?|__pycache__|\.venv|target|dist)(?:/|$)", path, re.IGNORECASE
            )
        ):
            return
        yield "delete-outside", target


def _relative(path: str, scene: Scene) -> str:
    for project in scene.projects:
        if path.startswith(project.replace("\\", "/") + "/"):
            return path[len(project) + 1 :]
    return path


def find(command: Command, scene: Scene) -> Found:
    """`find -delete` in a place that matters."""
    if "-delete" not in command.args:
        return
    starts = []
    for arg in command.args:
        if arg[:1] in ("-", "(", "!"):
            break
        starts.append(arg)
    if any(
        test in command.args for test in ("-name", "-iname", "-path", "-regex", "-empty", "-mtime", "-mmin", "-newer")
    ):
        kinds = {scene.kind(scene.absolute(start, command.folder)) for start in starts}
        if kinds & {"root", "system"} or (kinds & {"outside"} and not command.is_contained):
            yield "delete-outside", " ".join(starts)
        return
    for start in starts or ["."]:
        yield from judge_tree(start, command, scene)


def devices(command: Command, _scene: Scene) -> Found:
    """Raw writes to disks."""
    name = command.name
    if command.is_contained:
        return
    if name == "dd":
        target = next((arg[3:] for arg in command.args if arg.startswith("of=")), "")
        if re.match(r"/dev/(?!null|zero|stdout|stderr|shm)", target):
            yield "overwrite-device", target
    elif name.startswith("mkfs") or name in ("wipefs", "mkswap", "format", "shred"):
        disks = [arg for arg in command.operands if arg.startswith("/dev/") or re.match(r"[A-Za-z]:", arg)]
        if disks or (name == "shred" and command.operands):
            yield "overwrite-device", command.said
    elif (
        name == "diskutil"
        and command.args[:1]
        and re.match(r"(?i)erase|partition|zero|secureErase|reformat|apfs", command.args[0])
    ):
        if command.args[0].lower() != "apfs" or re.match(r"(?i)delete|erase", " ".join(command.args[1:2])):
            yield "overwrite-device", command.said
    elif (
        name in ("parted", "sgdisk", "sfdisk", "fdisk")
        and not command.has("-l", "--list", "-p", "--print", "print")
        and any(arg.startswith("/dev/") for arg in command.args)
    ):
        yield "overwrite-device", command.said


def databases(command: Command, _scene: Scene) -> Found:
    """SQL that drops, and tasks that do."""
    name = command.name
    said = command.said
    if any(_TEST_DATABASE.search(command.variable(variable)) for variable in _TEST_VARIABLES):
        return
    if name in SQL_PROGRAMS:
        text = "\n".join(
            (
                said,
                command.stdin[:_MOST_SQL],
                *(" ".join(fed.args) for fed in command.feeds if fed.name in ("echo", "printf")),
            )
        )
        if _TEST_DATABASE.search(said.split(" -c ", 1)[0]):
            return
        if (drop := _SQL_DROP.search(text)) is not None:
            if not re.match(r"\s+if\s+exists\s+(?:tmp|temp|test)", text[drop.end() :], re.IGNORECASE):
                yield "database-drop", drop[0]
        else:
            for statement in re.split(r";|\n", text):
                if (
                    (found := _SQL_DELETE.search(statement)) is not None
                    and _WHERE.search(statement) is None
                    and (found[0].lower().startswith("delete") or " set " in found[0].lower())
                ):
                    yield "database-delete", found[0]
                    return
    elif name == "dropdb" or (name == "mysqladmin" and "drop" in command.args):
        if not any(_TEST_DATABASE.search(arg) for arg in command.operands):
            yield "database-drop", said
    elif name == "redis-cli" and any(arg.upper() in ("FLUSHALL", "FLUSHDB") for arg in command.args):
        yield "database-drop", said
    elif name in _RESETTERS:
        rest = said.split(name, 1)[-1].strip() if said.startswith(name) else said
        rest = re.sub(r"^(?:(?:\S*/)?(?:artisan|manage\.py|rails|rake|ace)|-m\s+\S+)\s+", "", rest)
        if _RESETS.match(rest) and "--help" not in command.args and not _TEST_DATABASE.search(rest):
            if rest.startswith("flush") and "manage.py" not in said and name != "manage.py":
                return
            yield "database-drop", said


_DESTROYERS: dict[str, tuple[str, ...]] = {
    "terraform": (r"^(?:-chdir=\S+ )?destroy\b", r"^(?:-chdir=\S+ )?apply\b.* -destroy\b", r"^(?:-chdir=\S+ )?state rm\b", r"^workspace delete\b"),
    "pulumi": (r"^destroy\b", r"^stack rm\b"),
    "cdk": (r"^destroy\b",),
    "sam": (r"^delete\b",),
    "serverless": (r"^remove\b",),
    "eksctl": (r"^delete\b",),
    "kubectl": (r"^(?>.*?\bdelete )(?:\S+ )*?(?:ns|namespaces?|pvc?|persistentvolume\w*|statefulsets?|sts|deploy(?:ment)?s?|crds?|nodes?)\b", r"^(?>.*?\bdelete\b).* --all\b", r"\bdrain\b"),
    "helm": (r"^(?:uninstall|delete|del)\b",),
    "aws": (
        r"\bs3 rb|^(?>.*?\bs3 rm\b).*--recursive",
        r"\b(?:terminate-instances|delete-(?:stack|bucket|db-instance|db-cluster|cluster|table|function|user|role|vpc|volume|snapshot|repository|hosted-zone|secret|file-system|load-balancer))\b",
    ),
    "gcloud": (r"^(?>.*?\b(?:projects|instances|clusters|sql|buckets?|services|functions|disks|databases) )(?:\S+ )*?delete\b", r"^(?>.*?\bstorage rm\b).*(?:-r|--recursive)"),
    "gsutil": (r"\brb\b", r"^(?>.*?\brm\b).* -r", r"\b-m rm\b"),
    "az": (r"\bgroup delete\b", r"\b(?:vm|aks|webapp|sql \S+|storage account|keyvault|cosmosdb) delete\b"),
    "doctl": (r"\bdelete\b",),
    "hcloud": (r"\bdelete\b",),
    "fly": (r"^(?:apps? destroy|destroy|machines? destroy|volumes? destroy|postgres destroy)\b",),
    "flyctl": (r"^(?:apps? destroy|destroy|machines? destroy|volumes? destroy)\b",),
    "heroku": (r"^(?:apps:destroy|addons:destroy|pg:reset)\b",),
    "gh": (r"^repo delete\b", r"^(?>api (?:.*? )??-X DELETE ).*?repos/[^/ ]+/[^/ ]+/?(?: |$)"),
    "vercel": (r"^(?:rm|remove|project rm)\b",),
    "netlify": (r"^sites:delete\b",),
    "supabase": (r"^projects delete\b", r"^branches delete\b"),
    "wrangler": (r"^(?:delete|d1 delete|r2 bucket delete|kv namespace delete)\b",),
    "firebase": (r"\b(?:projects:delete|firestore:delete|database:remove)\b",),
    "vault": (r"\b(?:kv )?(?:metadata )?(?:delete|destroy) ",),
    "vagrant": (r"^destroy\b",),
    "minikube": (r"^delete\b",),
    "railway": (r"^(?:down|delete)\b",),
}  # fmt: skip
_DESTROYERS["tofu"] = _DESTROYERS["terraform"]
_DESTROYERS["oc"] = _DESTROYERS["kubectl"]
_DELETERS: dict[str, str] = {
    "kubectl": r"\bdelete\b",
    "oc": r"\bdelete\b",
    "aws": r"\bs3 rm\b|\s(?:delete|remove)-[a-z-]+\b",
    "gcloud": r"\bdelete\b",
    "az": r"\bdelete\b",
    "gsutil": r"\brm\b",
    "gh": r"^(?:release|run|secret|variable|workflow|cache|label|gist|ssh-key|issue|codespace) delete\b|^cache delete\b|^api .*-X DELETE\b",
    "heroku": r"^config:unset\b",
    "fly": r"^secrets unset\b",
}


def infrastructure(command: Command, _scene: Scene) -> Found:
    """Command line programs of clouds, clusters and platforms."""
    said = command.said
    if command.has("--help", "--dry-run", "--dryrun", "--dry-run=client", "--dry-run=server"):
        return
    patterns = _DESTROYERS.get(command.name, ())
    if re.search(r"^(?:-chdir=\S+ )?plan\b", said):
        return
    if any(re.search(pattern, said) for pattern in patterns):
        yield "infrastructure-destroy", said
    elif command.name in _DELETERS and re.search(_DELETERS[command.name], said):
        yield "resource-delete", said


def containers(command: Command, _scene: Scene) -> Found:
    """Volumes and prunes."""
    said = command.said
    if command.name == "docker-compose":
        said = f"compose {said}"
    if re.search(r"^(?:system prune|volume (?:rm|prune)|builder prune -a)", said) or (
        re.search(r"^compose (?:.* )?down\b", said) and command.has("-v", "--volumes")
    ):
        yield "container-data", said


def system(command: Command, _scene: Scene) -> Found:
    """The machine and its processes."""
    said = command.said
    if command.name in ("shutdown", "reboot", "halt", "poweroff", "stop-computer", "restart-computer"):
        if not command.is_contained and not command.has("--help") and said not in ("-c", "/a"):
            yield "stop-system", f"{command.name} {said}".strip()
    elif command.name == "kill" and command.args[-1:] == ("-1",) and len(command.args) > 1:
        yield "stop-system", f"kill {said}"
    elif command.name in ("init", "telinit") and command.args[:1] in (("0",), ("6",)):
        yield "stop-system", f"init {said}"
    elif (command.name in ("pkill", "killall") and not command.has("-0", "-l", "--help")) or (
        command.name == "taskkill" and any(arg.lower() in ("/im", "//im") for arg in command.args)
    ):
        yield "kill-by-name", said


def redirects(command: Command, _scene: Scene) -> Found:
    """Output that goes to a disk."""
    for path in command.writes:
        if re.match(r"/dev/(?:sd|hd|nvme|vd|xvd|disk|mmcblk|mapper/)", path):
            yield "overwrite-device", path


BY_PROGRAM = {
    **dict.fromkeys(("rm", "rimraf", "remove-item", "ri", "rmdir", "rd", "del", "trash", "unlink"), (files,)),
    "find": (find,),
    **dict.fromkeys(("dd", "wipefs", "mkswap", "shred", "diskutil", "parted", "sgdisk", "sfdisk", "fdisk", "format"), (devices,)),
    **dict.fromkeys((*SQL_PROGRAMS, *_RESETTERS, "dropdb", "mysqladmin", "redis-cli"), (databases,)),
    **dict.fromkeys((*_DESTROYERS, *_DELETERS), (infrastructure,)),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), (containers,)),
    **dict.fromkeys(
        ("shutdown", "reboot", "halt", "poweroff", "stop-computer", "restart-computer", "kill", "init", "telinit", "pkill", "killall", "taskkill"),
        (system,),
    ),
    "supabase": (databases, infrastructure),
    "wrangler": (databases, infrastructure),
}  # fmt: skip
