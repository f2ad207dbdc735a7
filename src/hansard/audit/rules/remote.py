"""Code from elsewhere, other machines, production, what is published and what is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hansard.audit.paths import Scene, private_file, secret_file
from hansard.shell.commands import Command
from hansard.shell.operations import addresses, file_uses, is_local, uploaded
from hansard.shell.runners import POWERSHELLS, SHELLS

Found = Iterator[tuple[str, str]]

_DOWNLOADERS = frozenset(
    {"curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "fetch", "http", "https", "xh", "aria2c"}
)
_INTERPRETERS = frozenset(
    {
        *SHELLS,
        *POWERSHELLS,
        "python",
        "python3",
        "python2",
        "perl",
        "ruby",
        "node",
        "php",
        "bun",
        "deno",
        "iex",
        "invoke-expression",
    }
)
_PRODUCTION = re.compile(r"(?:^|[^a-z0-9])(?:prod|production|prd)\d*(?![a-z0-9])", re.IGNORECASE)
_CONTEXTS = {
    "kubectl": ("--context", "--cluster", "--kubeconfig"),
    "oc": ("--context", "--cluster"),
    "helm": ("--kube-context", "--kubeconfig"),
    "k9s": ("--context",),
    "aws": ("--profile",),
    "gcloud": ("--project", "--configuration"),
    "az": ("--subscription", "-g", "--resource-group"),
    "heroku": ("-a", "--app", "-r", "--remote"),
    "fly": ("-a", "--app"),
    "flyctl": ("-a", "--app"),
    "doctl": ("--context",),
    "railway": ("-e", "--environment"),
    "supabase": ("--project-ref",),
    "vault": ("-address",),
    "argocd": ("--server",),
}
_DEPLOYS = (
    ("vercel", r"^.*--prod\b|^promote\b|^rollback\b"),
    ("netlify", r"^(?>.*?\bdeploy\b).*(?:--prod|-p)\b"),
    ("fly", r"^deploy\b"),
    ("flyctl", r"^deploy\b"),
    ("wrangler", r"^(?:deploy|publish|pages deploy|d1 migrations apply\b.*--remote)\b"),
    ("firebase", r"^deploy\b"),
    ("serverless", r"^deploy\b"),
    ("sls", r"^deploy\b"),
    ("cdk", r"^deploy\b"),
    ("sam", r"^deploy\b"),
    ("terraform", r"^(?:-chdir=\S+ )?apply\b"),
    ("tofu", r"^(?:-chdir=\S+ )?apply\b"),
    ("pulumi", r"^up\b"),
    ("kubectl", r"\b(?:apply|create|replace|patch|scale|set image|rollout (?:restart|undo)|edit)\b"),
    ("helm", r"^(?:upgrade|install|rollback)\b"),
    ("heroku", r"^(?:container:release|releases:rollback|ps:restart|maintenance:)"),
    ("gcloud", r"\b(?:run deploy|app deploy|functions deploy|deployments create)\b"),
    ("az", r"\b(?:webapp up|webapp deploy\w*|containerapp up|functionapp deploy\w*)\b"),
    ("aws", r"\b(?:s3 sync|cloudformation deploy|ecs update-service|lambda update-function-code|deploy create-deployment|amplify start-job)\b"),
    ("eb", r"^deploy\b"),
    ("ansible-playbook", r"."),
    ("kamal", r"^(?:deploy|redeploy|rollback|setup)\b"),
    ("cap", r"\bdeploy\b"),
    ("railway", r"^(?:up|redeploy)\b"),
    ("supabase", r"^(?:db push|functions deploy|link)\b(?!.*--local)"),
    ("git", r"^push (?:\S+ )*?(?:heroku|dokku|production|deploy|azure)\b"),
    ("docker", r"^(?:stack deploy|service update)\b"),
    ("argocd", r"^app sync\b"),
    ("eas", r"^(?:update|submit)\b"),
    ("convex", r"^deploy\b"),
    ("render", r"^deploys create\b"),
)  # fmt: skip
_PUBLISHES = (
    ("npm", r"^(?:publish|dist-tag add|unpublish|deprecate)\b"),
    ("pnpm", r"^(?:-r )?publish\b"),
    ("yarn", r"^(?:npm )?publish\b"),
    ("bun", r"^publish\b"),
    ("cargo", r"^(?:publish|yank)\b"),
    ("twine", r"^upload\b"),
    ("uv", r"^publish\b"),
    ("poetry", r"^publish\b"),
    ("hatch", r"^publish\b"),
    ("flit", r"^publish\b"),
    ("gem", r"^(?:push|yank)\b"),
    ("mix", r"^hex\.publish\b"),
    ("docker", r"^(?:compose |image )?push\b|^buildx build\b.*--push\b"),
    ("podman", r"^push\b"),
    ("helm", r"^push\b"),
    ("gh", r"^release (?:create|edit|upload)\b|^workflow run\b.*(?:release|deploy|publish)"),
    ("mvn", r"\bdeploy\b"),
    ("gradle", r"\bpublish\w*\b"),
    ("gradlew", r"\bpublish\w*\b"),
    ("dotnet", r"^nuget push\b"),
    ("vsce", r"^publish\b"),
    ("ovsx", r"^publish\b"),
    ("goreleaser", r"^release\b(?!.*--snapshot)"),
    ("changeset", r"^publish\b"),
    ("lerna", r"^publish\b"),
    ("semantic-release", r""),
    ("fastlane", r"\b(?:release|deliver|pilot|supply|beta)\b"),
    ("clawhub", r"^publish\b"),
)  # fmt: skip
_DRY = (
    "--dry-run",
    "--dryrun",
    "--dry-run=client",
    "--dry-run=server",
    "--help",
    "-h",
    "--no-publish",
    "--check",
    "--diff-only",
)
_TUNNELS = (
    ("ngrok", r"^(?:http|tcp|tls|start)\b"),
    ("cloudflared", r"^tunnel\b(?! (?:list|login|info))"),
    ("lt", r"--port|-p"),
    ("localtunnel", r"--port|-p"),
    ("frpc", r""),
    ("bore", r"^local\b"),
    ("tailscale", r"^funnel\b"),
    ("devtunnel", r"^host\b"),
    ("zrok", r"^share public\b"),
)
_GLOBAL_INSTALLS = (
    ("brew", r"^(?:install|upgrade|tap|uninstall)\b"),
    ("npm", r"^(?:i|install|add|uninstall|link)\b.*(?: -g| --global| --location=global)\b|^(?:-g|--global) (?:i|install)\b"),
    ("pnpm", r"^(?:add|i|install)\b.*(?: -g| --global)\b"),
    ("yarn", r"^global add\b"),
    ("bun", r"^(?:add|install|i)\b.*(?: -g| --global)\b"),
    ("pip", r"^install\b.*(?:--break-system-packages|--user)\b"),
    ("pip3", r"^install\b.*(?:--break-system-packages|--user)\b"),
    ("pipx", r"^install\b"),
    ("uv", r"^tool install\b"),
    ("cargo", r"^install\b"),
    ("gem", r"^install\b"),
    ("go", r"^install\b.*@"),
    ("apt", r"^(?:-\S+ )*(?:install|remove|purge|upgrade|dist-upgrade)\b"),
    ("apt-get", r"^(?:-\S+ )*(?:install|remove|purge|upgrade|dist-upgrade)\b"),
    ("dnf", r"^(?:-\S+ )*(?:install|remove|upgrade)\b"),
    ("yum", r"^(?:-\S+ )*(?:install|remove|update)\b"),
    ("apk", r"^(?:add|del)\b"),
    ("pacman", r"^-(?:S|R)"),
    ("snap", r"^(?:install|remove)\b"),
    ("choco", r"^(?:install|upgrade)\b"),
    ("winget", r"^(?:install|upgrade)\b"),
    ("scoop", r"^install\b"),
    ("port", r"^install\b"),
    ("dpkg", r"^(?:-i|--install)\b"),
)  # fmt: skip
_URL_INSTALLS = (
    ("pip", r"^install\b.*\b(?:git\+|https?://)"),
    ("pip3", r"^install\b.*\b(?:git\+|https?://)"),
    ("pipx", r"^install\b.*\b(?:git\+|https?://)"),
    ("npm", r"^(?:i|install|add)\b.* (?:git\+|https?://|git@|github:)"),
    ("pnpm", r"^(?:i|install|add)\b.* (?:git\+|https?://|git@|github:)"),
    ("yarn", r"^add\b.* (?:git\+|https?://|git@|github:)"),
    ("uv", r"^(?:add|pip install|tool install)\b.*\b(?:git\+|https?://)"),
    ("cargo", r"^install\b.*--git\b"),
    ("uvx", r"--from (?:git\+|https?://)"),
    ("claude", r"^plugin (?:marketplace add|install)\b"),
)
_INDEXES = re.compile(r"(?:--(?:extra-)?index-url|--find-links|-f|-i)[ =]\S+")


def downloads(command: Command, scene: Scene, every: Sequence[Command]) -> Found:
    """Downloads that are run, at once or after they were saved."""
    name = command.name
    if name in _INTERPRETERS or name in ("eval", "source", "."):
        sources = [fed for fed in (*command.feeds, *command.inner) if _is_remote_download(fed)]
        if sources and _runs_input(command, sources):
            yield "pipe-to-shell", f"{sources[0].name} {_url(sources[0])} | {name}"
            return
    if name.startswith(("$(", "`")) and any(map(_is_remote_download, command.inner)):
        yield "pipe-to-shell", name
        return
    saved = [path for fed in every if fed.end <= command.start and _is_remote_download(fed) for path in _saved(fed)]
    if not saved:
        return
    run = ""
    if name in _INTERPRETERS or name in ("source", "."):
        run = next((arg for arg in command.args if arg[:1] != "-"), "")
    path = scene.absolute(run, command.folder) if run else None
    names = {scene.absolute(path_, command.folder) for path_ in saved}
    started = {path_.rpartition("/")[2].lower() for path_ in saved}
    if (path is not None and path in names) or (
        not run and name in started and name and not name.endswith((".json", ".txt"))
    ):
        yield "download-and-run", run or name


def _is_remote_download(command: Command) -> bool:
    if command.name not in _DOWNLOADERS:
        return False
    hosts = [address.host for address in addresses(command)]
    return not hosts or not all(map(is_local, hosts))


def _url(command: Command) -> str:
    return next((arg for arg in command.args if "://" in arg), next(iter(command.operands), ""))


def _saved(command: Command) -> list[str]:
    paths = [use.path for use in file_uses(command) if use.verb == "write"]
    if (command.has("-O", "--remote-name") and command.name == "curl") or (command.name == "wget" and not paths):
        paths += [url.split("?")[0].rpartition("/")[2] for url in command.args if "://" in url]
    return paths


def _runs_input(command: Command, sources: list[Command]) -> bool:
    """Whether an interpreter runs what it gets, and does not only process it as data."""
    if any(source in command.inner for source in sources):
        if command.name in SHELLS or command.name in ("eval", "source", "."):
            first = next((arg for arg in command.args if arg[:1] != "-"), "")
            return command.name == "eval" or first.startswith(("<(", "$(", "`"))
        return command.has("-c", "-e") and any(arg.startswith(("$(", "`")) for arg in command.args)
    if command.name in SHELLS:
        return not [arg for arg in command.operands if not command.has("-s")] and not command.has("-c", "-n")
    if command.name in ("iex", "invoke-expression"):
        return True
    if command.stdin or command.has("-c", "-e", "-m", "-p", "-r", "-n", "--eval", "--print"):
        return False
    return all(arg == "-" for arg in command.operands[:1])


def packages(command: Command, _scene: Scene) -> Found:
    """Software that comes from elsewhere, or goes outside of the project."""
    said = command.said
    if command.has("--help", "--dry-run", "--version", "-n" if command.name in ("apt", "apt-get") else "--help"):
        return
    if _matches(_URL_INSTALLS, command.name, _INDEXES.sub("", said)):
        yield "install-from-url", f"{command.name} {said}"
    elif _matches(_GLOBAL_INSTALLS, command.name, said) and not command.is_contained and not command.host:
        yield "install-global", f"{command.name} {said}"


def releases(command: Command, _scene: Scene) -> Found:
    """Deployments and publications."""
    said = command.said
    if command.has(*_DRY) and not (command.name == "docker" and "-h" in command.args):
        return
    if _matches(_DEPLOYS, command.name, said):
        yield "deploy", f"{command.name} {said}"
    elif _matches(_PUBLISHES, command.name, said):
        yield "publish", f"{command.name} {said}"


def production(command: Command, scene: Scene) -> Found:
    """Names of production, and other machines."""
    named = [command.value(*_CONTEXTS[command.name])] if command.name in _CONTEXTS else []
    found = [(address.host, address.how) for address in addresses(command)]
    if command.name in ("ssh", "scp", "rsync", "sftp", "mosh", "autossh") or "postgres" in "".join(command.args)[:200] or command.name in (
        "psql", "mysql", "mongosh", "redis-cli", "pg_dump", "mysqldump", "pg_restore", "mongo", "mongodump",
    ):  # fmt: skip
        named += [host for host, _ in found]
    if command.variable("AWS_PROFILE"):
        named.append(command.variable("AWS_PROFILE"))
    if command.variable("KUBECONFIG"):
        named.append(command.variable("KUBECONFIG"))
    known = next((name for name in named if name and _is_production(name, scene)), "")
    known = known or next((host for host, _ in found if any(pattern.search(host) for pattern in scene.production)), "")
    if known:
        yield "production-host", f"{command.name}: {known}"
    elif command.name in ("ssh", "scp", "rsync", "sftp", "mosh", "autossh"):
        hosts = [host for host, _ in found if not is_local(host)]
        if hosts and not re.match(r"(?:git@)?(?:github|gitlab|bitbucket)\.", hosts[0]):
            yield "remote-host", f"{command.name}: {hosts[0]}"


def _is_production(name: str, scene: Scene) -> bool:
    if any(pattern.search(name) for pattern in scene.production):
        return True
    return (
        _PRODUCTION.search(name) is not None
        and re.search(r"(?:non|not|pre)[-_]?prod|prod(?:uction)?[-_]?(?:test|like|copy|mirror)", name, re.IGNORECASE)
        is None
    )


def tunnels(command: Command, _scene: Scene) -> Found:
    """Ways to this machine from outside."""
    said = command.said
    if command.name in ("ssh", "autossh"):
        if forward := command.value("-R"):
            yield "tunnel", f"ssh -R {forward}"
    elif _matches(_TUNNELS, command.name, said) and not command.has("--help", "--version"):
        yield "tunnel", f"{command.name} {said}"


def shells(command: Command, _scene: Scene) -> Found:
    """Shells for others."""
    for path in (*command.writes, *command.reads):
        found = re.match(r"/dev/(?:tcp|udp)/([^/]+)/", path)
        if found is not None and command.name in SHELLS and command.has("-i") and not is_local(found[1]):
            yield "remote-shell", path
    if (command.name in ("nc", "ncat", "netcat") and command.has("-e", "-c", "--exec", "--sh-exec")) or (
        command.name == "socat"
        and any("exec:" in arg.lower() and re.search(r"sh\b", arg, re.IGNORECASE) for arg in command.args)
    ):
        yield "remote-shell", command.said


def transport(command: Command, _scene: Scene) -> Found:
    """Certificates and host keys that are not checked."""
    said = command.said
    hosts = [address.host for address in addresses(command)]
    is_here = bool(hosts) and all(map(is_local, hosts))
    name = command.name
    if (
        (
            not is_here
            and (
                (name == "curl" and command.has("-k", "--insecure"))
                or (name == "wget" and command.has("--no-check-certificate"))
                or (name in ("pip", "pip3", "uv") and command.has("--trusted-host", "--allow-insecure-host"))
                or (name in ("npm", "yarn", "pnpm") and re.search(r"strict-ssl[ =]false", said))
                or (name in ("kubectl", "oc", "helm") and command.has("--insecure-skip-tls-verify"))
                or (name == "aws" and command.has("--no-verify-ssl"))
                or (name in ("docker", "podman") and "--tls-verify=false" in command.args)
            )
        )
        or command.variable("NODE_TLS_REJECT_UNAUTHORIZED") == "0"
        or command.variable("PYTHONHTTPSVERIFY") == "0"
    ):
        yield "insecure-transport", f"{name} {said}"
    if name in ("ssh", "scp", "rsync", "sftp", "autossh") and re.search(
        r"StrictHostKeyChecking[= ]no\b|UserKnownHostsFile[= ]/dev/null", said
    ):
        yield "no-host-check", f"{name} {said}"


def sends(command: Command, scene: Scene) -> Found:
    """Files that go to other machines."""
    hosts = [address.host for address in addresses(command)]
    if hosts and all(map(is_local, hosts)):
        return
    sent = [path for path in uploaded(command) if "$" not in path]
    if command.name in ("curl", "wget", "nc", "ncat", "netcat", "http", "xh", "socat"):
        is_input = command.name in ("nc", "ncat", "netcat", "socat") or re.search(
            r"(?:-d|--data(?:-\w+)?|-T|-F|--upload-file|=)[ =]?@?-(?: |$)|@-", command.said
        )
        if is_input and not command.has("-l", "-z"):
            sent += [use.path for fed in command.feeds for use in file_uses(fed) if use.verb == "read"]
    secret = [path for path in sent if private_file(scene.absolute(path, command.folder) or path) or secret_file(path)]
    if secret:
        yield "send-credentials", f"{secret[0]} to {hosts[0] if hosts else command.name}"
    elif sent and command.name not in ("scp", "rsync", "sftp"):
        yield "upload", f"{sent[0]} to {hosts[0] if hosts else command.name}"


def _matches(table: Sequence[tuple[str, str]], name: str, said: str) -> bool:
    return any(name == known and re.search(pattern, said) for known, pattern in table)


BY_PROGRAM = {
    **dict.fromkeys({name for table in (_GLOBAL_INSTALLS, _URL_INSTALLS) for name, _ in table}, (packages,)),
}
RELEASING = frozenset(name for table in (_DEPLOYS, _PUBLISHES) for name, _ in table)
TUNNELLING = frozenset({"ssh", "autossh", *(name for name, _ in _TUNNELS)})
