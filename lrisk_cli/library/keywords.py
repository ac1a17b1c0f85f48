"""Keyword arguments -> the option groups of a call, with the tables and models that they name."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from inspect import Parameter, Signature, cleandoc
from numbers import Integral, Real
from textwrap import fill
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from lrisk_cli.errors import InvalidOption, join_words
from lrisk_cli.library.frames import as_arrow, is_path, with_column
from lrisk_cli.options import OPTION, Option

F = TypeVar("F", bound=Callable[..., Any])

# Options that may be an array with a value for each row instead of the name of a column, and what
# the column is called then.
ARRAYS = {"target": "y", "weight": "weight", "exposure": "exposure"}
# Options that may be a table or a model in memory instead of a path.
TABLES = ("test",)
MODELS = ("model", "baseline")


@dataclass(frozen=True, slots=True)
class Group:
    """An option group, or some fields of it. defaults: in place of its own."""

    kind: type
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> Iterator[Field[Any]]:
        """The fields that are keywords; `data` is the first argument of a call."""
        for each in fields(self.kind):
            if each.name in self.without or (self.only and each.name not in self.only):
                continue
            yield each


@dataclass(frozen=True)
class Keywords:
    """The keywords of a function. positional: those that it names itself."""

    function: str
    groups: tuple[Group, ...]
    positional: tuple[str, ...] = ("data",)

    @cached_property
    def known(self) -> dict[str, tuple[Group, Field[Any], Any]]:
        """For each keyword its group, its field and the type of its values."""
        found = {}
        for group in self.groups:
            hints = get_type_hints(group.kind)
            for each in group.fields():
                found[each.name] = group, each, hints[each.name]
        return found

    @contextmanager
    def called(self, **values: Any) -> Iterator[dict[type, Any]]:
        """The groups by their type, while tables and models in memory can be opened by name."""
        self._refuse_unknown(values)
        with ExitStack() as stack:
            values = _name_tables(values, stack)
            values = _name_models(values, stack)
            groups = {group.kind: self._make(group, values) for group in self.groups}
            for each in groups.values():
                if hasattr(each, "during"):
                    stack.enter_context(each.during())
            yield groups

    def _make(self, group: Group, values: Mapping[str, Any]) -> Any:
        given = dict(group.defaults)
        for name, (owner, each, hint) in self.known.items():
            # None leaves an option to its default.
            if owner is group and values.get(name) is not None:
                option: Option = each.metadata[OPTION]
                given[name] = _value(name, hint, option, values[name])
        return group.kind(**given)

    def _refuse_unknown(self, values: Mapping[str, Any]) -> None:
        """TypeError, as Python raises it, with the nearest keyword."""
        for name in values:
            if name not in self.known:
                near = get_close_matches(name, self.known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise TypeError(f"{self.function}() has no argument '{name}'{hint}")

    def documented(self, function: F) -> F:
        """The function with a signature and a docstring that list the keywords."""
        shown = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.positional]
        lines = []
        for name, (group, each, _) in self.known.items():
            if name in self.positional:
                continue
            option: Option = each.metadata[OPTION]
            default = group.defaults.get(name, None if each.default is MISSING else each.default)
            shown.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
            text = option.help.replace("`", "")
            lines.append(fill(f"{name}: {text}", 96, subsequent_indent="    "))
        function.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        described = cleandoc(function.__doc__ or "")
        function.__doc__ = "\n\n".join([described, "Keywords:", "\n".join(lines)])
        return function


def _name_tables(values: Mapping[str, Any], stack: ExitStack) -> dict[str, Any]:
    """Tables in memory become names that open them; arrays become columns of the first one."""
    from lrisk_cli.tables.in_memory import tables_named

    named, tables = dict(values), {}
    data = named.pop("data", None)
    arrays = {name: named[name] for name in ARRAYS if _is_array(named.get(name))}
    if is_path(data):
        paths = (data,) if isinstance(data, str | os.PathLike) else data
        named["data"] = tuple(os.fspath(path) for path in paths)
        for option in arrays:
            raise InvalidOption(
                option, "is an array and the table a file; name a column, or read the table first"
            )
    elif data is not None:
        table = as_arrow(data)
        for option, array in arrays.items():
            name = getattr(array, "name", None)
            is_free = isinstance(name, str) and name and name not in table.column_names
            column = str(name) if is_free else ARRAYS[option]
            table = with_column(table, column, array, option)
            named[option] = column
        named["data"], tables["<data>"] = ("<data>",), table
    for option in TABLES:
        given = named.get(option)
        if given is not None and not is_path(given):
            named[option], tables[f"<{option}>"] = f"<{option}>", as_arrow(given, option)
    stack.enter_context(tables_named(tables))
    return named


def _name_models(values: Mapping[str, Any], stack: ExitStack) -> dict[str, Any]:
    """Models in memory become names that load them."""
    from lrisk_cli.models.loading import models_named

    named: dict[str, Any] = dict(values)
    models: dict[str, Any] = {}

    def name_one(option: str, given: Any) -> str:
        if isinstance(given, str | os.PathLike):
            return os.fspath(given)
        path = f"<{option}>" if f"<{option}>" not in models else f"<{option} {len(models) + 1}>"
        models[path] = model_of(given, option)
        return path

    for option in MODELS:
        given = named.get(option)
        if isinstance(given, list | tuple):
            named[option] = tuple(name_one(option, each) for each in given)
        elif given is not None:
            named[option] = name_one(option, given)
    stack.enter_context(models_named(models))
    return named


def model_of(given: Any, option: str = "model") -> Any:
    """The model that a result or a fitted estimator holds."""
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.model import Model

    for each in (given, getattr(given, "model_", None), getattr(given, "model", None)):
        if isinstance(each, Model | ClusterModel):
            return as_loaded(each)
    raise InvalidOption(
        option,
        "takes a path, a result of fit or cluster, or a fitted estimator; got "
        f"{type(given).__qualname__}",
    )


def as_loaded(model: Any) -> Any:
    """The model as its file gives it: new rows need no weights."""
    return replace(model, encoding=replace(model.encoding, weight=None))


def _is_array(value: Any) -> bool:
    """Whether there is a value for each row, not the name of a column."""
    return value is not None and not isinstance(value, str)


def _value(name: str, hint: Any, option: Option, value: Any) -> Any:
    """A value as its field takes it; one of another type is refused."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if option.listed or any(get_origin(kind) is tuple for kind in kinds):
        return _texts(value, listed=option.listed)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return _choice(name, kind, value)
        if kind is bool and isinstance(value, bool | np.bool_):
            return bool(value)
    return _number_or_text(name, kinds, option, value)


def _number_or_text(name: str, kinds: Sequence[Any], option: Option, value: Any) -> Any:
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if is_number and isinstance(value, Integral) and int in kinds:
        return _in_range(name, option, int(value))
    if is_number and float in kinds:
        return _in_range(name, option, float(value))
    if str in kinds and isinstance(value, Mapping):
        return ",".join(_pairs(value))
    if str in kinds and (is_number or isinstance(value, str | os.PathLike)):
        return _spelled(value)
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
    wanted = [words[kind] for kind in kinds if kind in words]
    raise InvalidOption(name, f"takes {' or '.join(wanted)}; got {value!r}")


def _texts(value: Any, *, listed: bool) -> tuple[str, ...]:
    """Several texts: one, a sequence of them, or names and their values."""
    if isinstance(value, Mapping):
        return tuple(_pairs(value))
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (_spelled(value),)
    texts = map(_spelled, value)
    return tuple(map(_quoted, texts) if listed else texts)


def _pairs(value: Mapping[Any, Any]) -> list[str]:
    """As the command line spells names and their values."""
    return [f"{_spelled(key)}={_spelled(each)}" for key, each in value.items()]


def _spelled(value: Any) -> str:
    """A number that reads back as the same number, or a text."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return repr(float(value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _quoted(text: str) -> str:
    """A name of which no part is taken for another, as CSV quotes it."""
    if not any(mark in text for mark in ',"'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _choice(name: str, kind: type[StrEnum], value: Any) -> StrEnum:
    if value in tuple(kind):
        return kind(value)
    known = [repr(each.value) for each in kind]
    near = get_close_matches(str(value), [each.value for each in kind], 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidOption(name, f"takes {join_words(known)}; got {value!r}{hint}")


def _in_range(name: str, option: Option, value: Any) -> Any:
    low, high = option.minimum, option.maximum
    if (low is not None and value < low) or (high is not None and value > high) or value != value:
        ends = (("at least", low), ("at most", high))
        bounds = [f"{words} {end:g}" for words, end in ends if end is not None]
        raise InvalidOption(name, f"takes a number of {' and '.join(bounds)}; got {value:g}")
    return value
