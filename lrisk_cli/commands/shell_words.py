"""What a shell can complete: commands, their options, and the words that these take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrisk_cli.commands.options.declared import Declared
    from lrisk_cli.parameters import Choice

# Placeholders of help that stand for a file, and for one of the commands.
OF_FILES = frozenset({"DATA", "FILE", "FOLDER", "MODEL"})
OF_COMMANDS = "COMMAND"
# Letters of a description beside an option.
MOST_LETTERS = 70


@dataclass(frozen=True, slots=True)
class Value:
    """What an option or argument takes: one of the words, a file, or neither, a text of any kind.

    A word that ends with a colon is followed by a parameter. listed: several, with commas between.
    """

    name: str
    words: tuple[str, ...] = ()
    files: bool = False
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """An option as it is typed. value: None where it takes none."""

    spellings: tuple[str, ...]
    summary: str
    value: Value | None
    repeats: bool


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A command. arguments: what stands in each position; the last may be repeated."""

    name: str
    summary: str
    flags: tuple[Flag, ...]
    arguments: tuple[Value, ...]


def vocabulary_of(command: Any, context: Any, summaries: Mapping[str, str]) -> Vocabulary:
    """The words of a command of the parser. summaries: of all commands, by their names."""
    flags, arguments = [], []
    for parameter in command.get_params(context):
        declared = command.declared.get(parameter.name)
        if parameter.param_type_name == "argument":
            name = parameter.metavar or declared.option.metavar
            arguments.append(_value(name, declared, tuple(summaries)))
            continue
        takes_value = not getattr(parameter, "is_flag", False)
        flags.append(
            Flag(
                tuple(parameter.opts),
                _summary(parameter.help or ""),
                _value(parameter.metavar, declared, tuple(summaries)) if takes_value else None,
                parameter.multiple,
            )
        )
    return Vocabulary(command.name, summaries[command.name], tuple(flags), tuple(arguments))


def _value(metavar: str | None, declared: "Declared | None", commands: Sequence[str]) -> Value:
    name = metavar or (declared.key.upper() if declared else "TEXT")
    if declared is not None and issubclass(declared.kind, StrEnum):
        return Value(name, tuple(declared.kind))
    if name == OF_COMMANDS:
        return Value(name, tuple(commands))
    if name in OF_FILES:
        return Value(name, files=True)
    # "scale|median|NUMBER": what is written small is a word.
    words = _known_words().get(name) or tuple(part for part in name.split("|") if part.islower())
    return Value(name, words, listed=declared is not None and declared.repeats)


def _known_words() -> dict[str, tuple[str, ...]]:
    """Words by what stands for them in help."""
    from lrisk_cli.baselines.registry import FAMILIES
    from lrisk_cli.evaluation.registry import METRICS, measures_predictions
    from lrisk_cli.losses.registry import AUTO, ENTRIES
    from lrisk_cli.names import CORRUPTIONS, EVALUATED_RISKS, RISKS

    metrics = [metric.name for metric in METRICS if measures_predictions(metric.name)]
    return {
        "RISK": _spelled(RISKS),
        "LOSS": (AUTO, *_spelled(ENTRIES)),
        "NAME[:NUMBER]": _spelled(FAMILIES),
        "KIND:FRACTION": tuple(f"{name}:" for name in CORRUPTIONS),
        "METRIC": (*EVALUATED_RISKS, *metrics),
    }


def _spelled(choices: "Mapping[str, Choice]") -> tuple[str, ...]:
    """Names; with a colon where a parameter must follow."""
    return tuple(
        f"{name}:" if ":" in choice.spelling(name) else name for name, choice in choices.items()
    )


def _summary(text: str) -> str:
    """The first sentence of a help text, on one line."""
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".")
    if len(sentence) <= MOST_LETTERS:
        return sentence
    return sentence[: MOST_LETTERS - 3].rpartition(" ")[0] + "..."
