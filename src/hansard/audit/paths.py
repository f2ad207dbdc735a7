"""Classify paths as a session sees them: in its project, temporary, of the system, a file with credentials, ..."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from hansard.clients.programs import PROGRAMS
from hansard.shell.commands import join

PathKind = Literal[
    "root", "home", "above", "project", "inside", "temporary", "client", "device", "system", "outside", "unknown"
]

_HOME = re.compile(r"(?:[A-Za-z]:)?/(?:home|Users|usr/home|export/home)/[^/]+|/root")
_GLOB = re.compile(r"\*+|\.\*|\{\*,\.\*\}|\.|\.\[[^\]]*\]\*")  # the last part of a path
_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/folders", "/var/folders", "/dev/shm", "/run/user")  # noqa: S108
_WINDOWS_TEMPORARY = re.compile(
    r"[a-z]:/(?:temp|tmp|windows/temp|users/[^/]+/appdata/local/temp)(?:/|$)", re.IGNORECASE
)
_SYSTEM = ("/etc", "/usr", "/bin", "/sbin", "/boot", "/lib", "/lib64", "/proc", "/sys", "/System", "/private/etc")
_NOT_SYSTEM = ("/usr/local", "/usr/home", "/usr/share", "/usr/src")
_WINDOWS_SYSTEM = re.compile(r"[a-z]:/(?:windows|program files(?: \(x86\))?|programdata)(?:/|$)", re.IGNORECASE)
_DEVICES = re.compile(r"/dev/(?:null|zero|stdin|stdout|stderr|tty\w*|fd/\d+|random|urandom)$")

BUILD_OUTPUT = frozenset(
    """
    node_modules dist build out target bin obj coverage htmlcov .next .nuxt .output .svelte-kit .turbo .parcel-cache .cache .vite .angular
    __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .venv venv env .eggs .gradle .terraform .serverless .vercel .netlify
    .expo .dart_tool Pods DerivedData .build _build deps vendor tmp temp .tmp logs log test-results playwright-report
    storybook-static .docusaurus site public/build .wrangler .hypothesis .nyc_output .import .godot .pnpm-store .yarn generated
    """.split()
)
"""Names of folders that tools make again."""
_OUTPUT_NAMES = re.compile(
    r"(?:^|/)[^/]*(?:\.egg-info|\.tsbuildinfo|\.pyc|\.o|\.log|\.tmp|-tmp|-temp|\.bak|_cache|\.cache)$"
)

_PRIVATE = (
    ("private SSH key", r"(?:^|/)\.ssh/(?![^/]*\.pub$)(?:id_[^/]+|[^/]+\.pem|[^/]*key)$"),
    ("cloud credentials", r"(?:^|/)\.aws/(?:credentials|sso/cache/)|(?:^|/)\.azure/(?:accessTokens|msal_token_cache)|application_default_credentials\.json$|(?:^|/)\.config/gcloud/(?:credentials\.db|legacy_credentials|access_tokens)|(?:^|/)\.oci/[^/]*\.pem$|(?:^|/)\.config/doctl/config"),
    ("cluster credentials", r"(?:^|/)\.kube/config$|(?:^|/)(?:admin|kubelet)\.conf$|(?:^|/)kubeconfig(?:\.ya?ml)?$"),
    ("saved passwords", r"(?:^|/)\.(?:netrc|pgpass|my\.cnf|pypirc|git-credentials|vault-token)$|(?:^|/)_netrc$|(?:^|/)\.docker/config\.json$|(?:^|/)\.config/gh/hosts\.yml$|(?:^|/)\.terraform\.d/credentials|(?:^|/)\.cargo/credentials|(?:^|/)\.gem/credentials"),
    ("login of an agent", "|".join(f"(?:^|/){program.login}" for program in PROGRAMS.values() if program.login)),
    ("key ring", r"(?:^|/)\.gnupg/(?:private-keys|secring)|\.keychain(?:-db)?$|(?:^|/)\.password-store/.|\.kdbx?$|(?:^|/)Login Data$|(?:^|/)key[34]\.db$|(?:^|/)logins\.json$"),
    ("password hashes", r"^/etc/(?:shadow|gshadow|sudoers)"),
)  # fmt: skip
_SECRETS = (
    ("environment file", r"(?:^|/)\.env(?!\.(?:example|sample|template|dist|defaults?|schema|test|ci|d\.ts)(?:\.|$))(?:\.[\w-]+)*$|(?:^|/)[\w-]+\.env$"),
    ("key file", r"(?<!public)(?<!pub)(?<!\.pub)\.(?:pem|p12|pfx|jks|keystore|ppk)$|(?:^|/)(?:[\w.-]*(?:private|secret|server|tls|ssl|signing|deploy)[\w.-]*)\.key$|(?:^|/)master\.key$"),
    ("secrets file", r"(?:^|/)(?:secrets?|credentials?)\.(?:ya?ml|json|toml|ini|txt|env|properties)$|(?:^|/)service[-_]?account[\w-]*\.json$|(?:^|/)\.npmrc$|(?:^|/)\.dev\.vars$|(?:^|/)\.envrc$"),
)  # fmt: skip
_FIXTURES = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|fixtures?|testdata|test-data|examples?|samples?|docs?|node_modules|site-packages|certs?/ca)(?:/|$)"
    r"|(?:^|/)(?:ca|cacert|ca-bundle|chain|fullchain|cert|certificate)\.pem$|example|sample|template|mock|dummy",
    re.IGNORECASE,
)
_STARTUP = re.compile(
    r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|zlogin|kshrc|xinitrc|xprofile|inputrc)$"
    r"|(?:^|/)\.config/fish/(?:config\.fish|conf\.d/)|(?:^|/)\.ssh/(?:config|authorized_keys2?|rc|environment)$"
    r"|^~?(?:/(?:home|Users)/[^/]+|/root)?/\.gitconfig$|(?:^|/)\.config/git/config$|(?:^|/)\.config/(?:autostart|systemd/user)/"
    r"|/Library/Launch(?:Agents|Daemons)/|(?:^|/)etc/cron|(?:^|/)var/spool/cron/|(?:^|/)Microsoft\.PowerShell_profile\.ps1$"
    r"|/Start Menu/Programs/Startup/"
)
_AGENT_SETTINGS = re.compile("|".join(rf"(?:^|/){path}" for program in PROGRAMS.values() for path in program.settings))
_HISTORY = re.compile(
    rf"(?:^|/)(?:{'|'.join(program.history for program in PROGRAMS.values() if program.history)})(?:/|$)"
    r"|(?:^|/)\.(?:bash|zsh|python|psql|mysql|node_repl)_history$|(?:^|/)\.zsh_sessions(?:/|$)"
)
_CLIENTS = re.compile(rf"/(?:{'|'.join(program.folder for program in PROGRAMS.values() if program.folder)})(?:/|$)")


class Scene(Struct, frozen=True):
    """The surroundings of a call: the current directory, the folders that belong to the session, and the client's own."""

    folder: str | None
    projects: tuple[str, ...] = ()
    config: str = ""  # the client's config directory
    production: tuple[re.Pattern[str], ...] = ()  # names of hosts, clusters and the like

    @property
    def home(self) -> str:
        """The home directory, as far as paths tell."""
        for path in (self.folder or "", *self.projects, self.config):
            found = _HOME.match(path.replace("\\", "/"))
            if found is not None:
                return found[0]
        return "~"

    def absolute(self, path: str, folder: str | None) -> str | None:
        """A path as the shell would see it, without a glob at its end; None if it cannot be known."""
        bare = _without_glob(path.replace("\\", "/"))
        if not bare:
            return "/" if path.startswith("/") else self.absolute(".", folder)
        if bare in ("*", ".*", "**", ".", "./"):
            bare = "."
        found = join(folder, bare)
        if found is None:
            return None
        if found.startswith("~") and self.home != "~":
            found = self.home + found[1:] if found[:2] in ("~", "~/") else found
        return re.sub(r"^/([a-z])(?=/)", r"\1:", found) if self.is_windows else found

    @property
    def is_windows(self) -> bool:
        """Whether the session was on Windows."""
        return any(re.match(r"[A-Za-z]:[\\/]|/[a-z]/", path) for path in (self.folder or "", *self.projects))

    def kind(self, path: str | None) -> PathKind:
        """Classify an absolute path."""
        if path is None:
            return "unknown"
        path = path.replace("\\", "/")
        if path == "/" or re.fullmatch(r"/?[A-Za-z]:/?", path):
            return "root"
        if path in ("~", self.home) or re.fullmatch(_HOME, path):
            return "home"
        if path.startswith("/dev/") and not path.startswith("/dev/shm"):  # noqa: S108
            return "inside" if _DEVICES.match(path) else "device"
        return self._among_folders(path)

    def _among_folders(self, path: str) -> PathKind:
        is_temporary = _within(path, _TEMPORARY) or _WINDOWS_TEMPORARY.match(path) is not None
        for project in (project.replace("\\", "/").rstrip("/") for project in self.projects if project):
            if path == project:
                return "project"
            if path.startswith(f"{project}/"):
                return "inside"
            if project.startswith(f"{path}/"):
                return "temporary" if is_temporary else "above"
        if is_temporary:
            return "temporary"
        if (self.config and _within(path, (self.config.replace("\\", "/").rstrip("/"),))) or _CLIENTS.search(path):
            return "client"
        is_system = _within(path, _SYSTEM) and not _within(path, _NOT_SYSTEM)
        return "system" if is_system or _WINDOWS_SYSTEM.match(path) else "outside"


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def is_build_output(path: str) -> bool:
    """Whether a folder is one that tools make again."""
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return any(part in BUILD_OUTPUT for part in parts) or _OUTPUT_NAMES.search(path) is not None


def _without_glob(path: str) -> str:
    """A path without the parts at its end that match everything."""
    while True:
        rest, slash, last = path.rpartition("/")
        if not slash or _GLOB.fullmatch(last) is None:
            return path
        path = rest


def private_file(path: str) -> str:
    """The kind of login or private key that a file holds; empty if its path does not show one."""
    path = path.replace("\\", "/")
    return next((what for what, pattern in _PRIVATE if re.search(pattern, path)), "")


def secret_file(path: str) -> str:
    """The kind of secrets that a file of a project usually holds; empty if its path does not show one."""
    path = path.replace("\\", "/")
    if _FIXTURES.search(path) is not None:
        return ""
    return next((what for what, pattern in _SECRETS if re.search(pattern, path)), "")


def is_startup_file(path: str) -> bool:
    """Whether a file decides what runs at every login, or who may log in."""
    return _STARTUP.search(path.replace("\\", "/")) is not None


def is_agent_settings(path: str) -> bool:
    """Whether a file holds permissions, hooks or servers of a coding agent."""
    return _AGENT_SETTINGS.search(path.replace("\\", "/")) is not None


def is_history(path: str) -> bool:
    """Whether a path is a record of what an agent or a shell did."""
    return _HISTORY.search(path.replace("\\", "/")) is not None
