"""The warnings: their codes and the conditions under which results are not what they seem.

Standard error, JSON, pages, JUnit, gates and the table of docs/warnings.md read this table, which
needs no numpy.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from lrisk_cli.errors import UsageError

# The metric that counts warnings; with a code after the colon, those of this code.
COUNT = "warnings"

# Code -> the condition, as docs/warnings.md states it.
WARNINGS: dict[str, str] = {
    "constant_predictions": "largest - smallest prediction <= 0.01 x standard deviation of the "
    "target; of class probabilities and means of counts: largest <= 1.01 x smallest; of at least "
    "10 rows",
    "no_gain": "1 - R(model) / R(best constant) <= 0.001 for the rising risk R that was minimised, "
    "on at most 20,000 evenly spaced training rows",
    "below_majority": "accuracy <= fraction of the most frequent class",
    "miscalibrated": "the mean probability of a class differs from its fraction of the rows by > "
    "0.1 x the fraction, and by > 2 standard errors sqrt(sum p (1 - p)) / n",
    "training_rows": "the rows evaluated are those learned from, or those and the held-out ones, "
    "in any order, by the digest in the model",
    "same_file": "a table is named twice: the same inode, or the same bytes",
    "numbers_as_text": "at least 90 % of the cells of a text feature look like numbers, not all in "
    "the same way",
    "near_categories": "categories of a feature differ in capitals and spaces only, or one with "
    "<= 5 % of the rows is one letter away from one that is >= 5 times as frequent",
    "r2_below_zero": "r2 < 0: the mean of the target has a smaller squared error than the model",
    "few_rows": "5 x encoded columns >= rows learned from, and no rows are held out, tested on or "
    "cross-validated",
}


@dataclass(frozen=True, slots=True)
class CodedWarning:
    """One finding: a code of the table, and a sentence with the figures and a remedy."""

    code: str
    text: str

    def __post_init__(self) -> None:
        if self.code not in WARNINGS:
            raise KeyError(self.code)

    def of(self, name: str) -> "CodedWarning":
        """The same, said of one of several models."""
        return CodedWarning(self.code, f"{name}: {self.text}")

    @property
    def line(self) -> str:
        """What standard error shows of it."""
        return f"{self.text} [{self.code}]"

    @property
    def document(self) -> dict[str, str]:
        """What programs read of it."""
        return {"code": self.code, "text": self.text}


Warnings = tuple[CodedWarning, ...]


def each_once(warnings: Iterable[CodedWarning]) -> Warnings:
    """Without repetitions, in their order."""
    return tuple(dict.fromkeys(warnings))


def count_warnings(warnings: Iterable[CodedWarning]) -> dict[str, float | None]:
    """What gates can ask for: the number of warnings, and of those of each code."""
    codes = [warning.code for warning in warnings]
    return {COUNT: len(codes), **{f"{COUNT}:{code}": codes.count(code) for code in WARNINGS}}


def spell_count(text: str) -> str | None:
    """ "warnings" or "warnings:CODE" of a known code; None for any other metric."""
    name, colon, code = text.strip().lower().partition(":")
    if name != COUNT or not colon:
        return name if name == COUNT else None
    if code not in WARNINGS:
        near = get_close_matches(code, WARNINGS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(WARNINGS)}"
        raise UsageError(f"metric {text.strip()!r}: no warning has this code; {hint}")
    return f"{COUNT}:{code}"
