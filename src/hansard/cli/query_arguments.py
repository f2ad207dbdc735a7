"""Commands that take a query: options may stand anywhere between its words."""

from __future__ import annotations

import click

from hansard.cli.context import Command


class QueryCommand(Command):
    """A command whose arguments are a query. An option that it does not have is an error, and never a word that filters.

    Fields may be excluded with a dash (`-tool:Bash`); any other word that begins with one goes after `--`.
    """

    takes_dashed_words = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the options first and the words behind a `--`."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        known = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
        ours: list[str] = []
        words: list[str] = []
        waiting = iter(args)
        for arg in waiting:
            if arg == "--":
                words += waiting
                break
            name, sign, _ = arg.partition("=")
            option = known.get(name)
            if option is not None and (not sign or name.startswith("--")):
                ours.append(arg)
                if not sign and not option.is_flag and not option.count:
                    value = next(waiting, None)
                    if value is None:
                        return super().parse_args(ctx, ours)  # which says what is missing
                    ours.append(value)
            elif arg[:2] in known and arg[2:].isdecimal() and not known[arg[:2]].is_flag:
                ours.append(arg)  # -C3
            elif ctx.resilient_parsing or self.takes_dashed_words or not arg.startswith("-") or _is_excluded_field(arg):
                words.append(arg)
            else:
                raise click.NoSuchOption(name, possibilities=self._similar(name), ctx=ctx)
        return super().parse_args(ctx, [*ours, "--", *words])

    def _similar(self, name: str) -> list[str]:
        from difflib import get_close_matches

        options = [param for param in self.params if isinstance(param, click.Option)]
        return get_close_matches(name, [one for option in options for one in option.opts], n=1, cutoff=0.75)


class FreeTextCommand(QueryCommand):
    """A command that searches for text: whatever begins with a dash and is none of its options is a word to find.

    So `error -the`, `--no-verify` and `-rf` need no `--`. click's own way (`ignore_unknown_options`) takes short words
    letter by letter, and would find -h in `-the`.
    """

    takes_dashed_words = True

    def meant(self, query: tuple[str, ...]) -> str:
        """What to say when a word of the query looks like a misspelt option; nothing when none does."""
        for word in query:
            name = word.partition("=")[0]
            near = self._similar(name) if name.startswith("--") else []
            if near and name != near[0]:
                return f"{name} was taken as a search word; did you mean the option {near[0]}?"
        return ""


def _is_excluded_field(arg: str) -> bool:
    """Whether an argument is a field of the query language with a dash before it, or a group of them."""
    if arg.startswith(("-(", '-"')):
        return True
    from hansard.query.language import FIELDS

    return arg[1:].partition(":")[0].lower() in FIELDS and ":" in arg
