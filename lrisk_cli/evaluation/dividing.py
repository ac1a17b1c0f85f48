"""Divide the usable rows of a table into folds, and choose those held out, as the options ask."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from lrisk_cli.evaluation.splits import (
    Folds,
    folds,
    group_folds,
    hold_out,
    hold_out_groups,
    hold_out_latest,
    number_groups,
    stratified_folds,
    time_folds,
)
from lrisk_cli.models.validation_record import HoldoutRecord
from lrisk_cli.names import Task
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Flags, Index

Cells = Array | Texts | None
Kind = Literal["random", "stratified", "groups", "time"]


@dataclass(frozen=True, slots=True)
class Division:
    """How rows are divided. option: None for at random, `cv_groups` or `cv_time`; column: by which.

    Folds of classes are stratified unless a column divides the rows.
    """

    option: str | None = None
    column: str | None = None

    @classmethod
    def by(cls, divider: tuple[str, str] | None) -> "Division":
        """The division by a column and the option that names it; None for at random."""
        return cls() if divider is None else cls(*divider)

    @property
    def holdout_kind(self) -> Literal["random", "groups", "time"]:
        """How rows are held out."""
        if self.option is None:
            return "random"
        return "time" if self.option == "cv_time" else "groups"

    def kind(self, task: Task) -> Kind:
        """How rows are divided into folds."""
        at_random = self.option is None and task is Task.CLASSIFICATION
        return "stratified" if at_random else self.holdout_kind

    def folds(
        self, task: Task, target: Cells, divider: Cells, k: int, seed: int, repeat: int
    ) -> Folds:
        """The fold of each row; of times -1 for rows that none tests. target, divider: (n,)."""
        kind = self.kind(task)
        if kind == "time":
            return time_folds(_numbers(divider), k)
        if kind == "groups":
            return group_folds(number_groups(_numbers(divider)), k, seed, repeat)
        cells = _numbers(target)
        if kind == "stratified":
            return stratified_folds(number_groups(cells), k, seed, repeat)
        return folds(len(cells), k, seed, repeat)


@dataclass(frozen=True, slots=True)
class Holdout:
    """Which fraction of the rows to hold out: rows at random, whole groups, or the latest."""

    fraction: float
    seed: int
    division: Division

    def check(self) -> None:
        """Refuse a wrong fraction before any work starts."""
        hold_out(2, self.fraction, self.seed)

    def flags(self, n_rows: int, divider: Cells) -> Flags:
        """True for the usable rows that are held out. divider: the column by which. (n,)."""
        kind = self.division.holdout_kind
        if kind == "random":
            return hold_out(n_rows, self.fraction, self.seed)
        if kind == "time":
            return hold_out_latest(_numbers(divider), self.fraction)
        return hold_out_groups(number_groups(_numbers(divider)), self.fraction, self.seed)

    def record(self, flags: Flags) -> HoldoutRecord:
        """What a model file says of it."""
        return HoldoutRecord(
            kind=self.division.holdout_kind,
            column=self.division.column,
            fraction=self.fraction,
            seed=self.seed,
            usable=len(flags),
            rows=int(np.count_nonzero(flags)),
            fingerprint=digest_flags(flags),
        )


def parts(fold_of: Folds, kind: str, k: int) -> Iterator[tuple[Index, Flags]]:
    """For each fold the rows that take part in it, and which of them it leaves out.

    Of times the later rows take no part: no fit sees the future.
    """
    for fold in range(k):
        part = np.flatnonzero(fold_of <= fold) if kind == "time" else np.arange(len(fold_of))
        yield part, fold_of[part] == fold


def digest_flags(flags: Flags) -> str:
    """32 hexadecimal digits that tell one choice of rows from another."""
    count = str(len(flags)).encode()
    return blake2b(count + np.packbits(flags).tobytes(), digest_size=16).hexdigest()


def _numbers(cells: Cells) -> Array:
    """Numbers, or the codes of texts. (n,)."""
    found: Array = np.asarray(cells.codes if isinstance(cells, Texts) else cells)
    return found
