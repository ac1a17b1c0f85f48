"""Options from a TOML file and the environment, and where each of them comes from.

Flags win over `LRISK_*` variables, these over the file. The file is the one that --config names,
or ./lrisk.toml. Its keys are the long flags without dashes: at the top for all commands that have
such an option, in a table for one command.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from lrisk_cli.commands.config_source import FILE, FILE_VARIABLE, PREFIX, is_ours
from lrisk_cli.commands.options.declared import Command, Declared, declared_options
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.parameters import read_fraction
from lrisk_cli.tables.named_columns import quote_field
from lrisk_cli.tables.small_files import read_small

# Read before any setting is known.
ONLY_FLAGS = frozenset({"config", "verbose", "help"})
_MOST_BYTES = 1_000_000
_LARGEST = sys.float_info.max
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a command. kind: bool, int, float, str or a StrEnum; many: it is repeatable.

    listed: each text holds one value or several, as CSV writes a list; such are repeatable too.
    shown: the default as help shows it, where the default itself says nothing.
    """

    key: str
    parameter: str
    kind: type
    many: bool
    listed: bool
    default: Any
    shown: str | None
    fraction: bool = False


@dataclass(frozen=True, slots=True)
class EffectiveOption:
    """The effective value of an option, and its source."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file of settings. shared: for all commands; tables: for one, by its name."""

    path: str
    shared: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]]


Settings = Mapping[str, Setting]


def settings_of(command: Command) -> dict[str, Setting]:
    """The options of a command by their keys."""
    return {
        each.key: Setting(
            each.key,
            each.word,
            each.kind,
            each.repeats,
            each.option.listed,
            _default_of(each),
            each.option.shown,
            each.option.fraction,
        )
        for each in declared_options(command)
        if not each.option.positional and each.key not in ONLY_FLAGS
    }


def _default_of(declared: Declared) -> Any:
    """The default of the flag; None where there is none."""
    if declared.many or declared.option.required:
        return None
    return False if declared.negated else declared.default


def defaults_of(settings: Settings) -> dict[str, EffectiveOption]:
    """The defaults; the words of the help where a default depends on other options."""
    return {
        key: EffectiveOption(each.shown if each.default is None else each.default, "default")
        for key, each in settings.items()
    }


def read_config(named: str | None) -> ConfigFile | None:
    """The file that was named, or ./lrisk.toml, or None where there is none."""
    if named == "":
        raise InvalidOption("config", "names no file; give its path, or leave it out")
    path = named or os.environ.get(FILE_VARIABLE) or FILE
    if path == FILE and not named and not os.path.lexists(FILE):
        return None
    import tomllib  # only where there is something to read

    try:
        data = read_small(path, _MOST_BYTES)
        if data is None:
            raise UsageError(f"{path}: more than {_MOST_BYTES} bytes of settings; check the path")
        contents = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UsageError:
        raise
    except (ValueError, RecursionError) as error:
        finding = str(error) or "nested too deeply"
        raise UsageError(f"{path}: not TOML ({finding}); mend the file") from None
    spelled = _spell_keys(path, contents)
    return ConfigFile(
        path,
        {key: value for key, value in spelled.items() if not isinstance(value, dict)},
        {
            name: _spell_keys(f"{path}, [{name}]", table)
            for name, table in spelled.items()
            if isinstance(table, dict)
        },
    )


def _spell(key: str) -> str:
    return key.replace("_", "-")


def _spell_keys(place: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Keys with dashes; one that is given with dashes and with underscores is refused."""
    spelled: dict[str, Any] = {}
    for key, value in table.items():
        if _spell(key) in spelled:
            raise UsageError(f"{place}: {_spell(key)} is given twice; keep one")
        spelled[_spell(key)] = value
    return spelled


def check_names(
    config: ConfigFile | None, environment: Mapping[str, str], known: Mapping[str, Settings]
) -> None:
    """UsageError that names the first key, table or variable that no command has."""
    anywhere = {key for settings in known.values() for key in settings}
    if config is not None:
        for key in config.shared:
            _refuse_unknown(config.path, "key", key, anywhere)
        for command, table in config.tables.items():
            _refuse_unknown(config.path, "table", command, set(known))
            for key in table:
                _refuse_unknown(f"{config.path}, [{command}]", "key", key, set(known[command]))
    variables = {_variable(key) for key in anywhere}
    variables |= {_variable(key, name) for name, settings in known.items() for key in settings}
    for name in sorted(environment):
        if name in {_variable(key) for key in ONLY_FLAGS} - {FILE_VARIABLE}:
            flag = name.removeprefix(PREFIX).lower()
            raise UsageError(f"the environment: {name} is no setting; pass {opt(flag)} instead")
        if is_ours(name) and name != FILE_VARIABLE:
            _refuse_unknown("the environment", "variable", name, variables)


def _refuse_unknown(place: str, what: str, name: str, known: set[str]) -> None:
    if name in known:
        return
    if what == "key" and name in ONLY_FLAGS:
        raise UsageError(f"{place}: {name} is no setting; pass {opt(name)} on the command line")
    near = get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "lrisk config COMMAND lists those it knows"
    raise UsageError(f"{place}: unknown {what} {name!r}; {hint}")


def find_effective(
    command: str, settings: Settings, config: ConfigFile | None, environment: Mapping[str, str]
) -> dict[str, EffectiveOption]:
    """What the file and the environment set for a command, by key."""
    effective: dict[str, EffectiveOption] = {}
    for key, setting in settings.items():
        if config is not None and key in config.shared:
            effective[key] = _of_file(setting, config.shared[key], config.path)
        if config is not None and key in config.tables.get(command, {}):
            value = config.tables[command][key]
            effective[key] = _of_file(setting, value, f"{config.path} [{command}]")
        for variable in (_variable(key), _variable(key, command)):
            if environment.get(variable):
                value = _of_variable(setting, environment[variable], variable)
                effective[key] = EffectiveOption(value, variable)
    return effective


def _variable(key: str, command: str | None = None) -> str:
    name = key if command is None else f"{command}-{key}"
    return PREFIX + name.upper().replace("-", "_")


def _of_file(setting: Setting, value: Any, source: str) -> EffectiveOption:
    """A value of TOML, as its option takes it."""
    refuse = partial(_refuse_value, f"{source}: {setting.key}", setting)
    if setting.many:
        is_list = isinstance(value, list)
        values = [_convert(setting, each, refuse) for each in (value if is_list else [value])]
        # An element of a list is one value, whatever it holds.
        quoted = [quote_field(each) for each in values] if setting.listed and is_list else values
        return EffectiveOption(quoted, source)
    return EffectiveOption(_convert(setting, value, refuse), source)


def _of_variable(setting: Setting, text: str, variable: str) -> Any:
    """The text of a variable, as its option takes it; several values stand between semicolons.

    Where a text holds several values already, it is one of those that could be repeated.
    """
    refuse = partial(_refuse_value, variable, setting)
    if setting.listed:
        return [_read_text(setting, text, refuse)]
    if setting.many:
        return [_read_text(setting, part.strip(), refuse) for part in text.split(";")]
    return _read_text(setting, text, refuse)


def _read_text(setting: Setting, text: str, refuse: Callable[[Any], UsageError]) -> Any:
    if setting.kind is bool:
        word = text.strip().lower()
        if word not in (*_YES, *_NO):
            raise refuse(text)
        return word in _YES
    if setting.kind in (int, float):
        try:
            value = read_fraction(text) if setting.fraction else setting.kind(text)
        except ValueError:
            raise refuse(text) from None
        return _convert(setting, value, refuse)
    return _convert(setting, text, refuse)


def _convert(setting: Setting, value: Any, refuse: Callable[[Any], UsageError]) -> Any:
    """The value itself where its type fits; numbers may stand for text that holds numbers.

    A fraction may be a text in percent.
    """
    if setting.fraction and isinstance(value, str) and value.rstrip().endswith("%"):
        return _read_text(setting, value, refuse)
    import msgspec  # only where something is set

    finite = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        if is_number:
            msgspec.convert(value, finite)
        if is_number and setting.kind is str:
            return repr(value)
        return msgspec.convert(value, setting.kind)
    except msgspec.ValidationError:
        raise refuse(value) from None


def _refuse_value(place: str, setting: Setting, value: Any) -> UsageError:
    kind = setting.kind
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    wanted = f"one of {', '.join(kind)}" if issubclass(kind, StrEnum) else names[kind]
    several = ", or a list of such" if setting.many else ""
    shown = _shown(value) if len(_shown(value)) <= 60 else f"{_shown(value)[:60]}..."
    return UsageError(f"{place} takes {wanted}{several}; got {shown}")


def _shown(value: Any) -> str:
    """A value as TOML spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return str(value) if isinstance(value, date | time) else repr(value)
    except ValueError:
        return "a number of thousands of digits"
