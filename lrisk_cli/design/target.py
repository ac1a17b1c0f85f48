"""What is to be predicted: a number or a class, and how cells of its column become y and back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.target_scale import describe, from_scale, least, to_scale
from lrisk_cli.errors import DataError, opt
from lrisk_cli.names import TargetScale, Task
from lrisk_cli.tables.cells import Texts, shortest_text, spell_numbers
from lrisk_cli.types import Array, Codes, Flags, Targets

Selection: TypeAlias = slice | npt.NDArray[np.int64]


class Target(ABC):
    """The column to predict. classes: in the order of their codes; none of a number.

    mean, scale: y = (number - mean) / scale; 0 and 1 for classes.
    """

    __slots__ = ()

    task: ClassVar[Task]
    name: str
    mean: float
    scale: float
    classes: tuple[str, ...]
    # The logarithm that is fitted in its place, if any.
    on: TargetScale = TargetScale.NONE

    @property
    def fitted_name(self) -> str:
        """What is fitted: the target, or its logarithm."""
        return describe(self.name, self.on)

    @property
    @abstractmethod
    def dtype(self) -> str:
        """How its column is to be read."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The task in words."""

    @abstractmethod
    def encode(self, cells: Array | Texts) -> Targets:
        """y of each row. (n,)."""

    @abstractmethod
    def in_units(self, values: Any) -> Any:
        """Margins (n, k), or y (n,), in units of the file, or of the logarithm that is fitted."""

    def restore(self, values: Any, factor: float = 1.0) -> Any:
        """Numbers in units of the file, from logarithms where these are fitted. (n,).

        factor: multiplies exponentials, as for the mean.
        """
        return values

    @abstractmethod
    def as_read(self, cells: Array | Texts, rows: Selection, y: Targets) -> Targets:
        """The targets of some rows as results compare them: numbers as read, or codes. (n,).

        cells: the whole column; y: what the cells of these rows became.
        """

    @abstractmethod
    def unseen(self, y: Targets) -> Flags | None:
        """Rows of no known class, missing cells included; None where any value will do. (n,)."""

    @abstractmethod
    def spell(self, value: float) -> str:
        """A target or a prediction, for a sentence."""


@dataclass(frozen=True, slots=True)
class NumberTarget(Target):
    """A number: y = (number - mean) / scale. on: the logarithm that stands for the number."""

    name: str
    mean: float = 0.0
    scale: float = 1.0
    on: TargetScale = TargetScale.NONE

    task: ClassVar[Task] = Task.REGRESSION
    classes: ClassVar[tuple[str, ...]] = ()  # type: ignore[misc]  # (of every number)

    @property
    def dtype(self) -> str:
        return "number"

    @property
    def summary(self) -> str:
        return str(self.task)

    def encode(self, cells: Array | Texts) -> Array:
        """A missing number is NaN."""
        if isinstance(cells, Texts):
            raise TypeError(f"the target {self.name!r} was read as text")
        # A signalling NaN, which a typed file may hold, is a missing cell like any other.
        with np.errstate(invalid="ignore"):
            numbers: Array = to_scale(cells, self.on) - self.mean
        numbers /= self.scale
        return numbers

    def in_units(self, values: Any) -> Any:
        return self.mean + self.scale * values

    def as_read(self, cells: Array | Texts, rows: Selection, y: Targets) -> Targets:
        # Undoing the standardisation would round them.
        numbers: Array = np.asarray(cells)[rows]
        return to_scale(numbers, self.on)

    def restore(self, values: Any, factor: float = 1.0) -> Any:
        return from_scale(values, self.on, factor)

    def unseen(self, y: Targets) -> None:
        return None

    def spell(self, value: float) -> str:
        number = float(self.restore(np.array([value]))[0])
        return f"{number:.6g}"


@dataclass(frozen=True, slots=True)
class ClassTarget(Target):
    """One of several classes: y is its position among them."""

    name: str
    classes: tuple[str, ...]

    task: ClassVar[Task] = Task.CLASSIFICATION
    mean: ClassVar[float] = 0.0  # type: ignore[misc]  # (codes are never scaled)
    scale: ClassVar[float] = 1.0  # type: ignore[misc]

    @property
    def dtype(self) -> str:
        """Numbers as classes are spelled as briefly as possible."""
        try:
            numbers = [float(label) for label in self.classes]
        except ValueError:
            return "category"
        return "number" if shortest_text(numbers) == list(self.classes) else "category"

    @property
    def summary(self) -> str:
        return f"{self.task} ({len(self.classes)} classes)"

    def encode(self, cells: Array | Texts) -> Codes:
        """A missing or unknown class is -1; spaces around a class count only if the fit's did."""
        texts = cells if isinstance(cells, Texts) else spell_numbers(cells)
        code = {label: position for position, label in enumerate(self.classes)}
        found = (code.get(text, code.get(text.strip(), -1)) for text in texts.values)
        codes = np.array([*found, -1], np.int32)
        return codes[texts.codes]

    def in_units(self, values: Any) -> Any:
        return values

    def as_read(self, cells: Array | Texts, rows: Selection, y: Targets) -> Targets:
        return y

    def unseen(self, y: Targets) -> Flags:
        return np.asarray(y < 0)

    def spell(self, value: float) -> str:
        return self.classes[int(value)]


def target_from_file(
    task: str,
    name: str,
    mean: float,
    scale: float,
    classes: tuple[str, ...],
    on: TargetScale = TargetScale.NONE,
) -> Target:
    """The target that a model file describes; ValueError where its parts disagree."""
    if len(classes) != len(set(classes)):
        raise ValueError("a class is named twice")
    if len(classes) == 1 or (task == Task.CLASSIFICATION) != bool(classes):
        raise ValueError(f"{len(classes)} classes do not fit the task")
    if not classes:
        return NumberTarget(name, mean, scale, on)
    if on is not TargetScale.NONE:
        raise ValueError("a target of classes has no scale")
    if (mean, scale) != (0.0, 1.0):
        raise ValueError("a target of classes has neither mean nor scale")
    return ClassTarget(name, classes)


def outside_scale(place: str, target: float, on: TargetScale) -> DataError:
    """The sentence for a target that its scale does not take."""
    other = opt("target_scale", TargetScale.LOG1P)
    remedy = f"pass {other}, or " if on is TargetScale.LOG and target > -1.0 else ""
    return DataError(
        f"{place}: the target is {target:g}, and {opt('target_scale', on)} needs targets greater "
        f"than {least(on):g}; {remedy}leave the option out or correct the table"
    )
