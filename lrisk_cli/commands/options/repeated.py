"""Options that take one value and are given twice are refused; the parser would take the last."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lrisk_cli.errors import UsageError, quote


def refuse_repeated(arguments: Sequence[str], parameters: Iterable[Any]) -> None:
    """UsageError that names the first option with two values. parameters: those of the command."""
    flags = {flag: each for each in parameters for flag in (*each.opts, *each.secondary_opts)}
    met: dict[str, str] = {}
    for flag, value in _given(arguments, flags):
        option = flags[flag]
        if option.multiple:
            continue
        if option.name in met:
            both = f"{quote(met[option.name])} and {quote(value)}"
            raise UsageError(f"{flag} takes one value and is given twice, {both}; keep one of them")
        met[option.name] = value


def _given(arguments: Sequence[str], flags: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Flags and their values, in the order given: --flag VALUE, --flag=VALUE, -f VALUE, -fVALUE."""
    rest = iter(arguments)
    for text in rest:
        if text == "--":
            return
        if text.startswith("--"):
            flag, equals, value = text.partition("=")
            if _takes_value(flags.get(flag)):
                yield flag, value if equals else next(rest, "")
        elif text.startswith("-"):
            for position, letter in enumerate(text[1:], 2):
                if _takes_value(flags.get(f"-{letter}")):
                    yield f"-{letter}", text[position:] or next(rest, "")
                    break


def _takes_value(option: Any) -> bool:
    return option is not None and not getattr(option, "is_flag", True)
