"""A command that takes option groups -> a function whose parameters Typer turns into flags."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from lrisk_cli.commands.options.declared import Command, Declared, declared_options, groups_of
from lrisk_cli.commands.streams import reports_aside
from lrisk_cli.errors import InvalidOption, opt


def flattened(command: Command, *others: Parameter) -> Command:
    """The command with a parameter for each option. others: parameters that it does not see."""
    declared, groups = declared_options(command), groups_of(command)
    unseen = {each.name for each in others}

    @wraps(command)
    def run(**values: Any) -> Any:
        made = {
            parameter: _make_group(parameter, group, declared, values)
            for parameter, group in groups.items()
        }
        options = {each.word for each in declared} | unseen
        given = {name: value for name, value in values.items() if name not in options}
        with ExitStack() as stack:
            if _writes_to_standard_output(declared, values):
                stack.enter_context(reports_aside())
            for group in made.values():
                if hasattr(group, "during"):
                    stack.enter_context(group.during())
            return command(**made, **given)

    plain = [
        each.replace(kind=Parameter.KEYWORD_ONLY)
        for name, each in signature(command).parameters.items()
        if name not in groups
    ]
    everyday_first = sorted(declared, key=lambda each: each.option.expert)
    parameters = [*plain, *map(_typer_parameter, everyday_first), *others]
    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=parameters
    )
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _writes_to_standard_output(declared: tuple[Declared, ...], values: Mapping[str, Any]) -> bool:
    """Whether an output is named `-`; UsageError where a document would be printed besides."""
    named = [each for each in declared if each.option.writes and values[each.word] == "-"]
    if named and values.get("json"):
        both = f"and {opt(named[0].word)} - both write to standard output"
        raise InvalidOption("json", f"{both}; give the file a path, or leave out {opt('json')}")
    return bool(named)


def _make_group(
    parameter: str, group: type, declared: tuple[Declared, ...], values: Mapping[str, Any]
) -> Any:
    """The group with the values that the parser found."""
    return group(
        **{
            each.field: _value(each, values[each.word])
            for each in declared
            if each.parameter == parameter
        }
    )


def _value(declared: Declared, value: Any) -> Any:
    if declared.repeats:
        return tuple(value) if value else declared.default
    return not value if declared.negated else value


def _typer_parameter(declared: Declared) -> Parameter:
    """A parameter of the type, default and annotation that make it this option."""
    kind: Any = list[declared.kind] if declared.repeats else declared.kind  # type: ignore[name-defined]
    required = declared.option.required
    default = False if declared.negated else declared.default
    if declared.repeats or required:
        default = None
    annotation = kind if required or default is not None else kind | None
    info = _argument(declared) if declared.option.positional else _option(declared)
    return Parameter(
        declared.word,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if required else default,
        annotation=Annotated[annotation, info],
    )


def _argument(declared: Declared) -> Any:
    option = declared.option
    return typer.Argument(metavar=option.metavar, help=option.help, show_default=False)


def _option(declared: Declared) -> Any:
    option = declared.option
    return typer.Option(
        *declared.flags,
        metavar=option.metavar,
        min=option.minimum,
        max=option.maximum,
        help=option.help,
        show_default=False if option.required else _shown_default(declared),
        rich_help_panel=declared.panel,
    )


def _shown_default(declared: Declared) -> str | bool:
    """The default in words; True where the parser knows it."""
    listed = declared.default if declared.option.listed else None
    return declared.option.shown or listed or True
