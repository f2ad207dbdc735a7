"""A POSIX shell script in front of the line, for many sessions at once: a shell starts in a tenth of the time of Python."""

from __future__ import annotations

import os
import sys
from shlex import join, quote

from hansard.cli.background import START
from hansard.cli.statusline.refresh import BUSY
from hansard.cli.statusline.run import Options
from hansard.cli.statusline.snapshot import SPOOL
from hansard.directories import data_directory

_PATIENCE = 100

_SCRIPT = r"""#!/bin/sh
# Made by `hansard statusline --script`. Shows the line that was last written for this session, and has the next one
# written in the background: by one process for all sessions, since starting Python for each would take too long.
umask 077
dir=@DIR@
hansard() { exec @COMMAND@ "$@" @OPTIONS@; }

said=
while IFS= read -r part || [ -n "$part" ]; do said=$said$part; done
case $said in
*'"session_id":'*) id=${said#*'"session_id":'} id=${id#*\"} id=${id%%\"*} ;;
*) id= ;;
esac
case $id in '' | *[!0-9A-Za-z_-]*) id=none ;; esac
[ ${#id} -le 64 ] || id=none

line=
if [ -r "$dir/$id.line" ] && IFS= read -r line <"$dir/$id.line" && [ -n "$line" ]; then
    printf '%s\n' "$line"
else
    [ -d "$dir" ] || mkdir -p "$dir" 2>/dev/null
    printf '%s' "$said" | (hansard --no-sync)
fi
[ -w "$dir" ] || exit 0
printf '%s' "$said" >"$dir/$id.in"

# One refresh at a time. Its number is in a file that only one shell can create; should it have died without removing
# that, or another process have got its number since, somebody tries again.
set -C
if ! { printf '%s\n' "$$" >"$dir/@BUSY@"; } 2>/dev/null; then
    pid= tries=
    { IFS= read -r pid <"$dir/@BUSY@"; IFS= read -r tries <"$dir/tries"; } 2>/dev/null
    case $tries in '' | *[!0-9]* | ??????*) tries=0 ;; esac
    case $pid in *[!0-9]*) pid= ;; esac
    if [ "$tries" -lt @PATIENCE@ ] && { [ -z "$pid" ] || kill -0 "$pid" 2>/dev/null; }; then
        printf '%s\n' "$((tries + 1))" >|"$dir/tries"
        exit 0
    fi
fi
printf '0\n' >|"$dir/tries"
hansard --refresh </dev/null >/dev/null 2>&1 &
printf '%s\n' "$!" >|"$dir/@BUSY@"
"""


def make_script(options: Options) -> str:
    """The script for these options; it names this very Python and data directory."""
    home = data_directory(options.home, os.environ)
    values = {
        "@DIR@": quote(os.path.join(home, SPOOL)),
        "@COMMAND@": join([sys.executable, "-P", "-c", START, "statusline"]),
        "@OPTIONS@": join(options.arguments(home)),
        "@BUSY@": BUSY,
        "@PATIENCE@": str(_PATIENCE),
    }
    text = _SCRIPT
    for place, value in values.items():
        text = text.replace(place, value)
    return text
