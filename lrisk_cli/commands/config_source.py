"""Where settings come from: the names of the file and of the variables, and whether there are any.

Most runs have none, and do not load what reads them.
"""

import os

FILE = "lrisk.toml"
PREFIX = "LRISK_"
# Names the file.
FILE_VARIABLE = "LRISK_CONFIG"
# Read elsewhere: which build of the kernels is to run.
OTHER_VARIABLES = frozenset({"LRISK_PORTABLE"})


def is_ours(variable: str) -> bool:
    """Whether a variable is for options."""
    return variable.startswith(PREFIX) and variable not in OTHER_VARIABLES


def is_anything_set() -> bool:
    """Whether there is a configuration file or a variable for options."""
    return os.path.lexists(FILE) or any(map(is_ours, os.environ))
