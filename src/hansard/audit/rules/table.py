"""The rules for risky operations: name, severity, meaning. The documentation is made from this table, and from the examples of `tests/audit/examples.py`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["high", "medium", "low"]
SEVERITIES: dict[str, str] = {
    "high": "may destroy data, hand out credentials or switch protection off, and cannot be taken back",
    "medium": "goes beyond the project or past a check, and somebody should know",
    "low": "usual in development, and worth a list",
}
CATEGORIES: dict[str, str] = {
    "destructive": "data or systems are deleted or overwritten",
    "git": "published or uncommitted work may be lost",
    "execution": "code from elsewhere is run",
    "privilege": "more rights than the user's own",
    "production": "systems and packages that others use",
    "credentials": "keys, tokens and passwords are read or sent",
    "outside": "changes outside of the project",
    "checks": "safeguards are switched off or passed by",
    "agents": "agents work without asking",
    "network": "the machine is opened to others",
}


class Rule(Struct, frozen=True):
    """A kind of risky operation."""

    name: str
    category: str
    severity: Severity
    title: str
    about: str


RULES: tuple[Rule, ...] = (
    Rule(
        "delete-everything",
        "destructive",
        "high",
        "Deletes a whole home, project or system directory",
        "A recursive deletion of `/`, the home directory, a folder above the project, the project itself or its `.git`.",
    ),
    Rule(
        "delete-outside",
        "destructive",
        "medium",
        "Deletes folders outside of the project",
        "A recursive deletion of anything that belongs neither to the project nor to a temporary folder, or on another machine.",
    ),
    Rule(
        "delete-unknown",
        "destructive",
        "medium",
        "Deletes folders that the command does not name",
        "A recursive deletion of a variable followed by a slash or a pattern: if the variable is empty, it starts at the root.",
    ),
    Rule(
        "delete-inside",
        "destructive",
        "low",
        "Deletes folders of the project",
        "A recursive deletion inside the project, except for what tools make again, such as `node_modules`, `dist` and caches.",
    ),
    Rule(
        "overwrite-device",
        "destructive",
        "high",
        "Overwrites a disk or partition",
        "Formats, partitions or writes raw data to a device, or erases files beyond recovery.",
    ),
    Rule(
        "database-drop",
        "destructive",
        "high",
        "Drops or empties a database or its tables",
        "`DROP`, `TRUNCATE` and their like in a command for a database, and tasks that drop it. Databases of tests do not count.",
    ),
    Rule(
        "database-delete",
        "destructive",
        "medium",
        "Deletes or changes every row of a table",
        "`DELETE` or `UPDATE` without a `WHERE` in a command for a database.",
    ),
    Rule(
        "infrastructure-destroy",
        "destructive",
        "high",
        "Destroys infrastructure or cloud resources",
        "Removes stacks, clusters, namespaces, buckets, machines, applications or repositories.",
    ),
    Rule(
        "resource-delete",
        "destructive",
        "medium",
        "Deletes single resources of a cluster or cloud",
        "Pods, jobs, records and the like, which are smaller than those of `infrastructure-destroy`.",
    ),
    Rule(
        "container-data",
        "destructive",
        "medium",
        "Deletes volumes or everything unused of a container engine",
        "Volumes hold data of databases; a prune of the whole system takes images and networks of other projects too.",
    ),
    Rule(
        "stop-system",
        "destructive",
        "medium",
        "Stops the machine or all of its processes",
        "Shuts down or restarts the machine, or signals every process.",
    ),
    Rule(
        "fork-bomb",
        "destructive",
        "high",
        "Starts processes without end",
        "A function that calls itself twice in the background.",
    ),
    Rule(
        "kill-by-name",
        "destructive",
        "low",
        "Stops processes by their name",
        "Every process of that name ends, also those that belong to something else.",
    ),
    Rule(
        "force-push-default",
        "git",
        "high",
        "Force-pushes a main branch",
        "Replaces the history of `main`, `master`, `develop`, `production` or a release branch, or of all branches.",
    ),
    Rule(
        "force-push",
        "git",
        "medium",
        "Force-pushes a branch",
        "Replaces the published history of a branch, with or without a lease; which one, the command may not say.",
    ),
    Rule(
        "delete-remote-branch",
        "git",
        "low",
        "Deletes a published branch or tag",
        "",
    ),
    Rule(
        "discard-changes",
        "git",
        "medium",
        "Discards all uncommitted changes",
        "What was not committed is gone: tracked files go back, untracked files are removed, or a stash is dropped.",
    ),
    Rule(
        "discard-file",
        "git",
        "low",
        "Discards uncommitted changes of some files",
        "",
    ),
    Rule(
        "rewrite-history",
        "git",
        "medium",
        "Rewrites or expires the history of a repository",
        "`filter-branch`, `filter-repo`, `reflog expire`, `gc --prune=now`, `update-ref -d`: commits may be gone for good.",
    ),
    Rule(
        "delete-branch",
        "git",
        "low",
        "Deletes a branch that may not be merged",
        "",
    ),
    Rule(
        "pipe-to-shell",
        "execution",
        "high",
        "Runs what it downloads",
        "The output of `curl`, `wget` or the like goes straight into a shell or an interpreter.",
    ),
    Rule(
        "download-and-run",
        "execution",
        "medium",
        "Downloads a file and runs it",
        "A file that the same command line downloaded is run.",
    ),
    Rule(
        "install-from-url",
        "execution",
        "low",
        "Installs a package from an address or repository",
        "The package does not come from a registry, so nobody else has looked at it there.",
    ),
    Rule(
        "install-global",
        "execution",
        "low",
        "Installs software outside of the project",
        "System packages, global packages of a language, tools in the home directory.",
    ),
    Rule(
        "superuser",
        "privilege",
        "medium",
        "Runs a command as another user",
        "`sudo`, `su`, `doas`, `pkexec`, `runas`.",
    ),
    Rule(
        "open-permissions",
        "privilege",
        "medium",
        "Lets everybody write",
        "`chmod 777` and its like.",
    ),
    Rule(
        "setuid",
        "privilege",
        "high",
        "Gives a program the rights of its owner",
        "Set-user-ID bits and capabilities.",
    ),
    Rule(
        "privileged-container",
        "privilege",
        "high",
        "Starts a container with the rights of the machine",
        "`--privileged`, the root directory or the engine's socket as a volume, the machine's processes.",
    ),
    Rule(
        "users-and-groups",
        "privilege",
        "high",
        "Changes users, groups or who may use sudo",
        "",
    ),
    Rule(
        "schedule",
        "privilege",
        "medium",
        "Makes something run later or at every start",
        "`crontab`, system services, launch agents, scheduled tasks.",
    ),
    Rule(
        "production-host",
        "production",
        "high",
        "Works on a host, cluster or database named as production",
        "The name has `prod`, `production` or `live` as one of its parts, or matches `production` in the configuration.",
    ),
    Rule(
        "deploy",
        "production",
        "medium",
        "Deploys",
        "Changes what runs on other machines: platforms, clusters, infrastructure as code.",
    ),
    Rule(
        "publish",
        "production",
        "medium",
        "Publishes a package, image or release",
        "",
    ),
    Rule(
        "remote-host",
        "production",
        "low",
        "Works on another machine",
        "`ssh`, `scp`, `rsync`, `sftp` with a host that is not this machine.",
    ),
    Rule(
        "read-private",
        "credentials",
        "high",
        "Reads private keys or saved logins",
        "SSH keys, cloud and cluster credentials, saved passwords, key rings, logins of agents: by a tool or by a command that prints or copies them.",
    ),
    Rule(
        "read-secrets",
        "credentials",
        "medium",
        "Reads a file that usually holds secrets",
        "Environment files, key files and secrets files of a project; examples, templates and test data do not count.",
    ),
    Rule(
        "print-secret",
        "credentials",
        "medium",
        "Prints a secret",
        "Asks a password manager, a vault, a cloud or a client for a token or password, or prints a variable that holds one.",
    ),
    Rule(
        "print-environment",
        "credentials",
        "low",
        "Prints all variables of the environment",
        "Tokens are often among them.",
    ),
    Rule(
        "send-credentials",
        "credentials",
        "high",
        "Sends a file with credentials to another machine",
        "Such a file is uploaded, copied to a host, or piped into a program that sends it.",
    ),
    Rule(
        "upload",
        "credentials",
        "low",
        "Uploads a file",
        "A file's content goes to a host that is not this machine.",
    ),
    Rule(
        "write-system",
        "outside",
        "high",
        "Changes files of the system",
        "Writes, moves or deletes below `/etc`, `/usr`, `/bin`, `/boot`, `/System`, `C:\\Windows` and the like.",
    ),
    Rule(
        "write-startup",
        "outside",
        "medium",
        "Changes what runs at every login, or who may log in",
        "Startup files of shells, SSH configuration and authorized keys, git configuration, cron, autostart.",
    ),
    Rule(
        "write-outside",
        "outside",
        "low",
        "Changes files outside of the project",
        "Writes, moves or deletes files that belong neither to the project, nor to a temporary folder, nor to the client.",
    ),
    Rule(
        "agent-settings",
        "agents",
        "medium",
        "Changes the settings of an agent",
        "Permissions, hooks and MCP servers decide what an agent may do without asking.",
    ),
    Rule(
        "erase-traces",
        "checks",
        "medium",
        "Deletes or changes records of what was done",
        "Transcripts of agents and histories of shells.",
    ),
    Rule(
        "skip-hooks",
        "checks",
        "medium",
        "Commits or pushes past hooks",
        "`--no-verify`, `HUSKY=0`, `SKIP=...`, a hooks path of its own: the checks of the repository do not run.",
    ),
    Rule(
        "skip-signature",
        "checks",
        "low",
        "Commits without the signature that is configured",
        "",
    ),
    Rule(
        "insecure-transport",
        "checks",
        "medium",
        "Does not check certificates",
        "`curl -k`, `--no-check-certificate`, `NODE_TLS_REJECT_UNAUTHORIZED=0`, `http.sslVerify=false`, trusted hosts. This machine does not count.",
    ),
    Rule(
        "no-host-check",
        "checks",
        "low",
        "Connects without checking the host's key",
        "",
    ),
    Rule(
        "disable-protection",
        "checks",
        "high",
        "Switches off a protection of the machine or repository",
        "Firewall, SELinux, Gatekeeper, Defender, quarantine, branch protection, execution policy.",
    ),
    Rule(
        "bypass-review",
        "checks",
        "medium",
        "Merges past the rules of a repository",
        "",
    ),
    Rule(
        "bypass-mode",
        "agents",
        "high",
        "Works in a mode in which nothing is asked",
        "The session's permission mode is `bypass`: `--dangerously-skip-permissions`, `bypassPermissions`, approval `never` with full access.",
    ),
    Rule(
        "unsandboxed",
        "agents",
        "medium",
        "Asks to run a command outside of the sandbox",
        "The call itself asks for it.",
    ),
    Rule(
        "start-agent-unchecked",
        "agents",
        "high",
        "Starts an agent that asks nothing",
        "`claude --dangerously-skip-permissions`, `codex --yolo`, `gemini --yolo` and their like.",
    ),
    Rule(
        "tunnel",
        "network",
        "medium",
        "Opens a way from the internet to this machine",
        "Tunnels and reverse forwards.",
    ),
    Rule(
        "remote-shell",
        "network",
        "high",
        "Gives a shell of this machine to another",
        "`nc -e`, a shell on `/dev/tcp`.",
    ),
)  # fmt: skip

BY_NAME: dict[str, Rule] = {rule.name: rule for rule in RULES}
VERSION = 2
"""Raised when a rule changes what it finds; reports name it."""
