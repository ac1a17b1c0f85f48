"""Specifications such as "superquantile:0.9": a known name and, after a colon, its parameter.

Risks, baselines, corruptions and metrics are all written this way and all read here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite

from lrisk_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Parameter:
    """The number that follows a name.

    symbol: what stands for it in help ("Q"); name: what messages call it ("level"); range: the
    values that it takes, in words; example: a usual value. default: the value where it is left
    out, None where it must be given; shown: that value in words, where it is no single number.
    fraction: it may be given in percent.
    """

    symbol: str
    name: str
    range: str
    accepts: Callable[[float], bool]
    example: float
    default: float | None = None
    shown: str = ""
    fraction: bool = False

    def __str__(self) -> str:
        default = "" if self.default is None else self.shown or spell_number(self.default)
        return f"{self.symbol} {self.range}" + (f" (default {default})" if default else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """A name that an option accepts: what it means, and its parameter, if it takes one."""

    summary: str
    parameter: Parameter | None = None

    def __str__(self) -> str:
        return self.summary if self.parameter is None else f"{self.parameter}: {self.summary}"

    def spelling(self, name: str) -> str:
        """How it is written: `name`, or `name:SYMBOL` where its parameter must be given."""
        if self.parameter is None or self.parameter.default is not None:
            return name
        return f"{name}:{self.parameter.symbol}"


# What is near a name that is unknown here; a function where that depends on the parameter.
Answer = str | Callable[[float | None], str]


def split_specs(texts: Iterable[str]) -> list[str]:
    """Specifications that are given one at a time or several with commas between them."""
    return [part.strip() for text in texts for part in text.split(",")]


def parse_choice(
    text: str,
    kind: str,
    choices: Mapping[str, Choice],
    aliases: Mapping[str, str] | None = None,
    *,
    plural: str | None = None,
    answers: "Mapping[str, Answer] | None" = None,
) -> tuple[str, float | None]:
    """Read `name` or `name:parameter`; the parameter is None where there is none.

    kind: what is read, in the singular, for messages; plural: where that is not kind + s. A wrong
    text is refused with a sentence. answers: what is near, for names that are known elsewhere.
    """
    written, _, argument = text.strip().partition(":")
    name = written.strip().lower()
    name = (aliases or {}).get(name, name)
    if name not in choices and name in (answers or {}):
        raise UsageError(f"unknown {kind} {text!r}; {_answer((answers or {})[name], argument)}")
    if name not in choices:
        known = ", ".join(choice.spelling(each) for each, choice in choices.items())
        hint = suggest(name, [*choices, *(aliases or {})], f"known {plural or f'{kind}s'}: {known}")
        raise UsageError(f"unknown {kind} {text!r}; {hint}")
    return name, parse_parameter(text, name, argument, choices[name].parameter)


def parse_parameter(
    text: str, name: str, argument: str, parameter: Parameter | None
) -> float | None:
    """The number after the colon; None where it may be left out and is. text: all that was read."""
    if parameter is None:
        if argument:
            raise UsageError(f"{name} takes no parameter; got {text!r}, write {name}")
        return None
    example = spell(name, parameter.example)
    if not argument:
        if parameter.default is None:
            raise UsageError(f"{name} needs its {parameter.name}, for example {example}")
        return None
    try:
        value = read_fraction(argument) if parameter.fraction else float(argument)
    except ValueError:
        raise UsageError(
            f"{name} {parameter.name} must be a number, for example {example}; got {argument!r}"
        ) from None
    if not isfinite(value) or not parameter.accepts(value):
        hint = hint_percent(value) if parameter.fraction else ""
        raise UsageError(f"{name} {parameter.name} must be {parameter.range}; got {argument}{hint}")
    return value


def _answer(answer: "Answer", argument: str) -> str:
    """The sentence for a parameter, if there is one."""
    if isinstance(answer, str):
        return answer
    try:
        return answer(read_fraction(argument))
    except ValueError:
        return answer(None)


def read_fraction(text: str) -> float:
    """ "0.2" or "20%"; ValueError for what is no number."""
    number, percent, rest = text.strip().partition("%")
    if rest:
        raise ValueError(text)
    return float(number) / 100.0 if percent else float(number)


def hint_percent(value: float) -> str:
    """The remedy for a fraction that looks like a percentage; nothing for others."""
    if not 2.0 <= value < 100.0:
        return ""
    return f"; write {value:g}% or {spell_number(value / 100.0)}"


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """The remedy for an unknown name: the nearest known one, or what is said otherwise."""
    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


def spell(name: str, parameter: float | None) -> str:
    """`name` or `name:parameter`, which reads back as the same."""
    return name if parameter is None else f"{name}:{spell_number(parameter)}"


def spell_number(value: float) -> str:
    """The number in six digits where these are exact, otherwise in as many as it needs."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
