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
    from hansard.model.files import UnreadHistory
    from hansard.model.ledger import Limit, PriceOverride

DEFAULT_MAX_FILE_MB = 64
KEYS = {
    "roots": "source roots to read: Claude config directories or projects directories; a path or a list of paths",
    "clients": "which agents' histories are read: below [clients], NAME = false leaves a client out, and NAME = a path or a list of paths replaces its usual directories",
    "follow_links": "directories outside the roots that links in the roots may point into; a path or a list of paths",
    "max_file_mb": "the largest side file (tool result, image, ...) to keep, in MiB; `hansard status` lists larger ones",
    "timezone": "the time zone of days, weeks and months in reports, e.g. Europe/Berlin; by default the system's",
    "prices": "prices of your own: one [[prices]] table for each, with model, input, output and the dates between which they apply",
    "budgets": "spending limits per day, week or month, for everything or for one project",
    "groups": "several projects as one product, for `hansard usage --by group`",
    "statusline": "what `hansard statusline` prints",
    "keep_login": "true: a browser stays logged in to `hansard web` for 30 days, even if the server restarts; false by default",
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
    statusline: str | None = None
    follow_links: tuple[str, ...] = ()
    keep_login: bool = False
    tui_remember: bool = False
    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    switched_off: tuple[str, ...] = ()  # clients

    def unread(self) -> list[UnreadHistory]:
        """Histories on this machine that are not read."""
        from hansard.clients.elsewhere import find_unread

        return find_unread(os.environ, os.path.expanduser("~"), self.roots, self.switched_off)

    def open(self, *, redact: bool = False) -> Hansard:
        """Open the engine on this store and these roots."""
        from hansard import engine

        return engine.open(
            self.home,
            self.roots,
            follow_links=self.follow_links,
            max_file=self.max_file,
            prices=self.prices,
            groups=self.groups,
            redact=redact,
        )


def load(
    environ: Mapping[str, str], *, home: str | None = None, roots: Sequence[str] = (), follow_links: Sequence[str] = ()
) -> Settings:
    """Combine the settings; `home`, `roots` and `follow_links` come from the command line."""
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
        statusline=values.get("statusline"),
        follow_links=tuple(follow_links) or _paths(path, values, "follow_links"),
        keep_login=values.get("keep_login", False),
        tui_remember=values.get("tui_remember", False),
        groups=_groups(path, values.get("groups", {})),
        switched_off=tuple(name for name, given in values.get("clients", {}).items() if given is False),
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
    limit = values.get("max_file_mb", DEFAULT_MAX_FILE_MB)
    from decimal import Decimal

    if isinstance(limit, bool) or not isinstance(limit, (int, Decimal)) or limit != limit or not 0 < limit < 1 << 20:  # noqa: PLR0124 - nan
        raise UsageError(
            f"{path}: max_file_mb must be a number of MiB above 0, e.g. max_file_mb = {DEFAULT_MAX_FILE_MB}"
        )
    for name, example in (("timezone", "Europe/Berlin"), ("statusline", "{session} {today}")):
        if not isinstance(values.get(name, ""), str):
            raise UsageError(f'{path}: {name} must be a string, e.g. {name} = "{example}"')
    for name in ("keep_login", "tui_remember"):
        if not isinstance(values.get(name, False), bool):
            raise UsageError(f"{path}: {name} must be true or false, e.g. {name} = true")
    if "prices" in values or "budgets" in values:
        from hansard.config import cost_settings

        values["prices"] = cost_settings.overrides(path, values.get("prices", []))
        values["budgets"] = cost_settings.limits(path, values.get("budgets", {}))
    return values
