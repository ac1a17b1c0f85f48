"""The options of a command, from the option groups in its signature."""

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from lrisk_cli.options import OPTION, Option

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """An option of a command: the field of a group.

    parameter: of the command's function, which the group is passed as. kind: bool, int, float, str
    or a StrEnum; many: it is repeatable. group_panel: of the help, unless the option has its own.
    """

    parameter: str
    field: str
    kind: type
    many: bool
    default: Any
    option: Option
    group_panel: str

    @property
    def panel(self) -> str:
        """The section of the help that lists it."""
        return self.option.panel or self.group_panel

    @property
    def negated(self) -> bool:
        """Whether the flag turns off what holds without it."""
        return self.kind is bool and self.default is True

    @property
    def key(self) -> str:
        """Its long flag without the dashes."""
        name = (self.option.name or self.field).replace("_", "-")
        return f"no-{name}" if self.negated else name

    @property
    def word(self) -> str:
        """Its name in Python; one of a kind within a command."""
        return self.key.replace("-", "_")

    @property
    def repeats(self) -> bool:
        """Whether each time that it is given counts."""
        return self.many or self.option.listed

    @property
    def flags(self) -> tuple[str, ...]:
        """As they are typed."""
        short = () if self.option.short is None else (self.option.short,)
        return (*short, f"--{self.key}")


Options = dict[str, Declared]
# What a command makes of the options of a group, by field.
Change = Callable[[Options], Options]


def without(*names: str) -> Change:
    """To annotate a group in a command's signature: these of its fields are no options."""
    return lambda options: {name: each for name, each in options.items() if name not in names}


def only(*names: str) -> Change:
    """To annotate a group in a command's signature: no other fields of it are options."""
    return lambda options: {name: options[name] for name in names}


def vary(name: str, **changes: Any) -> Change:
    """To annotate a group in a command's signature: another default, or other fields of Option."""

    def change(options: Options) -> Options:
        found, of_option = options[name], dict(changes)
        default = of_option.pop("default", found.default)
        varied = replace(found, default=default, option=replace(found.option, **of_option))
        return {**options, name: varied}

    return change


@cache
def groups_of(command: Command) -> dict[str, type]:
    """The option groups that a command takes, by parameter."""
    return {
        parameter: hint
        for parameter, hint in get_type_hints(command).items()
        if parameter != "return" and isinstance(hint, type) and is_dataclass(hint)
    }


@cache
def declared_options(command: Command) -> tuple[Declared, ...]:
    """The options and positional arguments of a command, in the order of its signature."""
    groups = groups_of(command)
    found: list[Declared] = []
    for parameter, hint in get_type_hints(command, include_extras=True).items():
        if parameter not in groups:
            continue
        declared = {each.field: each for each in _fields(parameter, groups[parameter])}
        for change in hint.__metadata__ if get_origin(hint) is Annotated else ():
            declared = change(declared)
        found += declared.values()
    words = {each.word for each in found}
    return tuple(
        replace(each, option=replace(each.option, help=_with_flags(each.option.help, words)))
        for each in found
    )


def _fields(parameter: str, group: type) -> Iterator[Declared]:
    hints = get_type_hints(group)
    for field in fields(group):
        option: Option = field.metadata[OPTION]
        kind, many = _kind_of(hints[field.name])
        default = None if field.default is MISSING else field.default
        panel: str = group.panel  # type: ignore[attr-defined]
        yield Declared(parameter, field.name, kind, many, default, option, panel)


def _kind_of(hint: Any) -> tuple[type, bool]:
    """The type of one value on the command line, and whether there may be several.

    A text stands for what the library also takes as a number or as several texts.
    """
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        return _kind_of(str if str in parts else parts[0])
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    return hint, False


def _with_flags(text: str, words: set[str]) -> str:
    """Names of options between backticks become flags."""

    def flag(match: re.Match[str]) -> str:
        name = match[1].replace("_", "-")
        return f"--{name}" if name.replace("-", "_") in words else match[0]

    return re.sub(r"`([a-z0-9_-]+)`", flag, text)
