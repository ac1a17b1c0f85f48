"""Values that are plainly what their option takes pass by the parser's own conversion.

Typer converts by pydantic, which takes a tenth of a second to load. Whatever is not plain goes
there, and so do all values that are refused: the parser has the sentences.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrisk_cli.commands.options.declared import Declared

_NOT_PLAIN = object()
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{0,15})?(e-?[0-9]{1,2})?")


class PlainValues:
    """A Typer command or group whose parameters take plain values as they are.

    declared: its options by their names in Python; others take texts.
    """

    declared: "Mapping[str, Declared]" = MappingProxyType({})

    def get_params(self, ctx: Any) -> list[Any]:
        """Those of the command, --help included."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if "process_value" not in vars(parameter):
                _take_plain_values(parameter, self.declared.get(parameter.name))
        return parameters


def _take_plain_values(parameter: Any, declared: "Declared | None") -> None:
    convert = parameter.process_value
    is_many = getattr(parameter, "multiple", False) or parameter.nargs == -1
    kind = str if declared is None else declared.kind

    def process_value(context: Any, value: Any) -> Any:
        found = _plain_many(kind, value) if is_many else _plain(kind, declared, value)
        if found is _NOT_PLAIN or (parameter.required and not found):
            return convert(context, value)
        callback = parameter.callback
        return found if callback is None else callback(context, parameter, found)

    parameter.process_value = process_value


def _plain_many(kind: type, value: Any) -> Any:
    """Several texts, as a list."""
    if value is None:
        return ()
    is_plain = isinstance(value, list | tuple) and all(type(each) is str for each in value)
    return list(value) if is_plain and kind is str else _NOT_PLAIN


def _plain(kind: Any, declared: "Declared | None", value: Any) -> Any:
    """The value as its option takes it, or a mark that it is not plain."""
    if value is None or type(value) is kind:
        return value if kind not in (int, float) else _in_range(declared, value)
    if type(value) is not str:
        return _NOT_PLAIN
    if issubclass(kind, StrEnum):
        return kind(value) if value in tuple(kind) else _NOT_PLAIN
    if kind is float and declared is not None and declared.option.fraction:
        value = _plain_fraction(value)
    pattern = {int: _WHOLE, float: _NUMBER}.get(kind)
    if pattern is None or not pattern.fullmatch(value):
        return _NOT_PLAIN
    return _in_range(declared, kind(value))


def _plain_fraction(text: str) -> str:
    """ "20%" as "0.2"; other texts as they are."""
    number = text.strip().removesuffix("%").strip()
    is_percent = "%" in text and _NUMBER.fullmatch(number) is not None
    return f"{float(number) / 100.0:.15g}" if is_percent else text


def _in_range(declared: "Declared | None", value: Any) -> Any:
    """The number, if its option has no limits or it keeps them."""
    if value is None or declared is None:
        return value
    low, high = declared.option.minimum, declared.option.maximum
    inside = (low is None or value >= low) and (high is None or value <= high)
    return value if inside else _NOT_PLAIN
