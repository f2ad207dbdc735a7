"""Commands that take a query: whatever begins with a dash and is none of their options is a word of it."""

from __future__ import annotations

import click

from hansard.cli.context import Command


class Asking(Command):
    """A command whose arguments may begin with a dash, as in `error -the`, `--no-verify` and `-tool:Bash`.

    click's own way (`ignore_unknown_options`) takes short words letter by letter, and would find -h in `-the`.
    """

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
            else:
                words.append(arg)
        return super().parse_args(ctx, [*ours, "--", *words])

    def options(self) -> list[str]:
        """The long names of its options."""
        return [
            name for param in self.params if isinstance(param, click.Option) for name in param.opts if name[:2] == "--"
        ]

    def meant(self, query: tuple[str, ...]) -> str:
        """What to say when a word of the query looks like a misspelt option; nothing when none does."""
        from difflib import get_close_matches

        for word in query:
            name = word.partition("=")[0]
            near = get_close_matches(name, self.options(), n=1, cutoff=0.75) if name.startswith("--") else []
            if near and name != near[0]:
                return f"{name} was taken as a word; did you mean the option {near[0]}?"
        return ""
