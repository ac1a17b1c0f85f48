"""From option groups, which are plain dataclasses, to the options of the command line."""

import shlex
import sys


def command_line() -> str:
    """The command that is running, as one would type it in a shell."""
    return shlex.join(["lrisk", *sys.argv[1:]])
