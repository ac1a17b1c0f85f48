"""How the command line spells the options that packages name in their sentences."""

from shlex import quote

# Options that are usually written with one letter.
_KNOWN_BY_LETTER = {"clusters": "-k", "output": "-o"}
# Characters that a shell would not pass on as they are.
_NEEDS_QUOTES = frozenset("*?#~&;|<>$")


def spell_flag(option: str, value: object = None) -> str:
    """An option in a sentence: --max-passes, --max-passes 60, --no-intercept."""
    if option in _KNOWN_BY_LETTER and value is None:
        return _KNOWN_BY_LETTER[option]
    name = option.removesuffix("_column").replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    if value is None:
        return f"--{name}"
    text = str(value)
    return f"--{name} {quote(text) if _NEEDS_QUOTES & set(text) else text}"
