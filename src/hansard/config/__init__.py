"""Settings of the front ends, in this order: options, environment, configuration file, usual places."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.directories import config_path, data_directory
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.guard.redaction import Mode
    from hansard.model.files import UnreadHistory
    from hansard.model.ledger import Limit, PriceOverride
    from hansard.model.retention import Retention

DEFAULT_MAX_FILE_MB = 64
KEYS = {
    "roots": "source roots to read: Claude config directories or projects directories; a path or a list of paths",
    "clients": "which agents' histories are read: below [clients], NAME = false leaves a client out, and NAME = a path or a list of paths replaces its usual directories",
    "follow_links": "directories outside the roots that links in the roots may point into; a path or a list of paths",
    "max_file_mb": "the largest side file (tool result, image, ...) to keep, in MiB; `hansard status` lists larger ones",
    "not_stored": "side files that are not stored; a list of tool_result, file_history, paste, prompt_history, plan, todo, memory, shell, stats; all are stored by default",
    "timezone": "the time zone of days, weeks and months in reports, e.g. Europe/Berlin; by default the system's",
    "prices": "prices of your own: one [[prices]] table for each, with model, input, output and the dates between which they apply",
    "budgets": "spending limits per day, week, month or session, for everything or for one project, and what a hook does about them",
    "groups": "several projects as one product, for `hansard usage --by group`",
    "statusline": "what `hansard statusline` prints",
    "retention": "how long things are kept: below [retention], free_after_days, delete_after_days, hold, and tables of kinds and projects; for ever by default",
    "open_projects": "projects whose texts may leave this machine with `hansard team push` and `hansard lake push`; a list of paths, or of the last parts of paths; none by default",
    "team": "the database of a team: below [team], database, machine and schema",
    "lake": "the lake of a team: below [lake], target, machine, person, key, names and table, and below [lake.budgets] limits for all machines together",
    "keep_login": "true: a browser stays logged in to `hansard web` for 30 days, even if the server restarts; false by default",
    "redact": "how secrets are redacted in what you see: off (the default), on, strict; what leaves this machine is always redacted unless --redact says otherwise",
    "tui_remember": "true: `hansard tui` reopens the last screen and filter; false by default",
}
"""The keys of the configuration file, with their meaning."""


class Settings(NamedTuple):
    """What a front end needs to open the engine."""

    home: str
    roots: tuple[str, ...]
    max_file: int  # bytes
    warnings: tuple[str, ...] = ()
    timezone: str | None = None
    prices: tuple[PriceOverride, ...] = ()
    limits: tuple[Limit, ...] = ()
    budget_action: str | None = None  # warn, block: what the hook does; None: nothing
    statusline: str | None = None
    follow_links: tuple[str, ...] = ()
    keep_login: bool = False
    tui_remember: bool = False
    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    switched_off: tuple[str, ...] = ()  # clients
    open_projects: tuple[str, ...] = ()
    team: Mapping[str, str] = MappingProxyType({})  # database, machine, schema
    retention: Retention | None = None
    not_stored: tuple[str, ...] = ()
    lake: Mapping[str, Any] = MappingProxyType(
        {}
    )  # target, machine, person, key, table: texts; names: whether they are written; budgets: limits of all machines
    redact: Mode = "off"  # in what the user sees
    redact_outgoing: Mode = (
        "on"  # in what leaves the machine: exports, answers to agents, handoffs, commits, a team's database
    )

    def unread(self) -> list[UnreadHistory]:
        """Histories on this machine that are not read."""
        from hansard.clients.elsewhere import find_unread

        return find_unread(os.environ, os.path.expanduser("~"), self.roots, self.switched_off)

    def open(self, *, redact: str | None = None) -> Hansard:
        """Open the engine on this store and these roots; `redact` instead of the setting."""
        from hansard import engine

        return engine.open(
            self.home,
            self.roots,
            follow_links=self.follow_links,
            max_file=self.max_file,
            prices=self.prices,
            groups=self.groups,
            redact=redact or self.redact,
            hold=self.retention.hold if self.retention is not None else (),
            not_stored=self.not_stored,
        )

    def open_outgoing(self) -> Hansard:
        """Open the engine for texts that leave the machine."""
        self.redact_texts()
        return self.open(redact=self.redact_outgoing)

    def redact_texts(self) -> None:
        """Redact what this process writes for agents, handoffs and commits as the store's user decided."""
        from hansard.secrets.redactor import use_store

        use_store(self.home, self.redact_outgoing)


def load(
    environ: Mapping[str, str],
    *,
    home: str | None = None,
    roots: Sequence[str] = (),
    follow_links: Sequence[str] = (),
    redact: Mode | None = None,
) -> Settings:
    """Combine the settings; what is named comes from the command line."""
    path, values = _read_file()
    warnings: list[str] = []
    user = os.path.expanduser("~")
    home = data_directory(home, environ)
    try:
        home.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{home}: SQLite cannot open a path that is not UTF-8; name another with --home") from None
    if not roots:
        roots, source = _default_roots(environ, user, path, values)
        there = [root for root in roots if os.path.exists(os.path.expanduser(root))]
        warnings += [f"{source} names {root}, which does not exist" for root in roots if root not in there]
        roots = there
    return Settings(
        home=home,
        roots=tuple(roots),
        max_file=int(values.get("max_file_mb", DEFAULT_MAX_FILE_MB) * (1 << 20)),
        warnings=tuple(warnings),
        timezone=values.get("timezone"),
        prices=values.get("prices", ()),
        limits=values.get("budgets", ()),
        budget_action=values.get("budget_action"),
        statusline=values.get("statusline"),
        follow_links=tuple(follow_links) or _paths(path, values, "follow_links"),
        keep_login=values.get("keep_login", False),
        tui_remember=values.get("tui_remember", False),
        groups=_groups(path, values.get("groups", {})),
        switched_off=tuple(name for name, given in values.get("clients", {}).items() if given is False),
        open_projects=tuple(map(os.path.expanduser, values.get("open_projects", ()))),
        team=values.get("team", {}),
        retention=values.get("retention"),
        not_stored=tuple(values.get("not_stored", ())),
        lake=values.get("lake", {}),
        redact=redact or values.get("redact", "off"),
        redact_outgoing=redact or ("strict" if values.get("redact") == "strict" else "on"),
    )


def usual_places(environ: Mapping[str, str]) -> list[str]:
    user = os.path.expanduser("~")
    xdg = environ.get("XDG_CONFIG_HOME", "")
    return [
        os.path.join(user, ".claude"),
        os.path.join(xdg if os.path.isabs(xdg) else os.path.join(user, ".config"), "claude"),
    ]


def _default_roots(
    environ: Mapping[str, str], user: str, path: str, values: Mapping[str, Any]
) -> tuple[list[str], str]:
    from hansard.clients.roots import default_root_paths

    if not environ.get("CLAUDE_CONFIG_DIR") and values.get("roots"):
        return [*_paths(path, values, "roots")], path
    chosen = values.get("clients")
    if not chosen:
        return default_root_paths(environ, user), "CLAUDE_CONFIG_DIR"
    named = [root for name, given in chosen.items() if given for root in _paths(path, chosen, name)]
    return [*default_root_paths(environ, user, chosen), *named], path


def _paths(path: str, values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The paths of a setting; relative ones are relative to the file."""
    base = os.path.dirname(path)
    return tuple(os.path.join(base, os.path.expanduser(given)) for given in values.get(name, ()))


def _groups(path: str, value: object) -> dict[str, tuple[str, ...]]:
    """The groups: a table of names, each with a list of projects."""
    if isinstance(value, dict):
        lists = {name: [given] if isinstance(given, str) else given for name, given in value.items()}
        if all(
            isinstance(given, list) and all(isinstance(one, str) and one for one in given) for given in lists.values()
        ):
            return {name: tuple(map(os.path.expanduser, given)) for name, given in lists.items()}
    raise UsageError(
        f'{path}: groups are lists of projects: below [groups] write e.g. webshop = ["shop-api", "~/src/shop-web"]'
    )


def _read_file() -> tuple[str, dict[str, Any]]:
    path = config_path()
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return path, {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    import tomllib
    from decimal import Decimal

    try:
        values = tomllib.loads(content.decode("utf-8-sig"), parse_float=Decimal)
    except ValueError as error:  # tomllib's own error, and text that is not UTF-8
        raise UsageError(f"{path}: not valid TOML ({error})") from error
    return path, _checked(path, values)


def _check_clients(path: str, chosen: Any) -> None:
    if isinstance(chosen, dict):
        for name, given in chosen.items():
            if isinstance(given, str):
                chosen[name] = [given]
        if all(
            given is False or (isinstance(given, list) and given and all(isinstance(one, str) and one for one in given))
            for given in chosen.values()
        ):
            return
    raise UsageError(f'{path}: below [clients] write e.g. codex = false, or codex = ["~/.codex", "/backup/codex"]')


def _check_team(path: str, values: dict[str, Any]) -> None:
    opened, team = values.get("open_projects", []), values.get("team", {})
    if not isinstance(opened, list) or not all(isinstance(one, str) and one.strip("/\\ ") for one in opened):
        raise UsageError(
            f'{path}: open_projects must be a list of projects, e.g. open_projects = ["webshop", "~/src/api"]'
        )
    if (
        not isinstance(team, dict)
        or not set(team) <= {"database", "machine", "schema"}
        or not all(isinstance(one, str) and one for one in team.values())
    ):
        raise UsageError(
            f'{path}: below [team] write e.g. database = "postgresql://db.example.com/team"; machine and schema are names'
        )


def _check_not_stored(path: str, kinds: Any) -> None:
    from hansard.sources.roots import OPTIONAL

    if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in OPTIONAL for kind in kinds):
        raise UsageError(f"{path}: not_stored must be a list of these: {', '.join(OPTIONAL)}")


def _check_lake(path: str, lake: Any) -> None:
    texts = {"target", "machine", "person", "key", "table"}
    if (
        not isinstance(lake, dict)
        or not set(lake) <= {*texts, "names", "budgets"}
        or not all(isinstance(lake[name], str) and lake[name] for name in texts & set(lake))
        or not isinstance(lake.get("names", False), bool)
    ):
        raise UsageError(
            f'{path}: below [lake] write e.g. target = "s3://bucket/hansard"; machine, person, key and table are texts,'
            " and names is true or false; below [lake.budgets] e.g. month = 5000"
        )
    if "budgets" in lake:
        from hansard.config import cost_settings

        lake["budgets"] = cost_settings.limits(path, lake["budgets"], of_lake=True)


def _checked(path: str, values: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(values) - set(KEYS))
    if unknown:
        raise UsageError(f"{path}: unknown setting: {', '.join(unknown)}; use one of {', '.join(KEYS)}")
    for name, example in (("roots", '["~/.claude", "/backup/claude"]'), ("follow_links", '["/big/claude-projects"]')):
        paths = values.get(name, [])
        if isinstance(paths, str):
            paths = values[name] = [paths]
        if not isinstance(paths, list) or not all(isinstance(given, str) and given for given in paths):
            raise UsageError(f"{path}: {name} must be a list of paths, e.g. {name} = {example}")
    _check_clients(path, values.get("clients", {}))
    _check_team(path, values)
    _check_lake(path, values.get("lake", {}))
    limit = values.get("max_file_mb", DEFAULT_MAX_FILE_MB)
    from decimal import Decimal

    if isinstance(limit, bool) or not isinstance(limit, (int, Decimal)) or limit != limit or not 0 < limit < 1 << 20:  # noqa: PLR0124 - nan
        raise UsageError(
            f"{path}: max_file_mb must be a number of MiB above 0, e.g. max_file_mb = {DEFAULT_MAX_FILE_MB}"
        )
    _check_not_stored(path, values.get("not_stored", []))
    for name, example in (("timezone", "Europe/Berlin"), ("statusline", "{session} {today}")):
        if not isinstance(values.get(name, ""), str):
            raise UsageError(f'{path}: {name} must be a string, e.g. {name} = "{example}"')
    if values.get("redact", "off") not in ("off", "on", "strict"):
        raise UsageError(f'{path}: redact must be "off", "on" or "strict"')
    for name in ("keep_login", "tui_remember"):
        if not isinstance(values.get(name, False), bool):
            raise UsageError(f"{path}: {name} must be true or false, e.g. {name} = true")
    if "retention" in values:
        from hansard.config import retention_settings

        values["retention"] = retention_settings.retention(path, values["retention"])
    if "prices" in values or "budgets" in values:
        from hansard.config import cost_settings

        values["prices"] = cost_settings.overrides(path, values.get("prices", []))
        values["budget_action"] = cost_settings.action(path, values.get("budgets"))
        values["budgets"] = cost_settings.limits(path, values.get("budgets", {}))
    return values
