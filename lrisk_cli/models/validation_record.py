"""What a model file says about the choice among candidates and about the rows held out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]


class CandidateRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A risk and a penalty, and the metric on the rows that each fold left out."""

    risk: str
    l2: float
    value: float
    standard_error: float
    fold_values: tuple[float, ...]
    fits_not_converged: Count


class ChosenRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate that was fitted to all rows. optimistic: its figure is what it was chosen by.

    The best of several figures is on average better than the same candidate is on new rows.
    """

    risk: str
    l2: float
    value: float
    standard_error: float
    optimistic: bool


class CrossValidationRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the candidates were compared, their figures, and which was chosen.

    kind: how the rows were divided into folds; column: by which, for groups and time. rule: the
    best figure, or the simplest candidate within a standard error of it.
    """

    folds: Annotated[int, Meta(ge=2)]
    kind: Literal["random", "stratified", "groups", "time"]
    column: str | None
    repeats: Annotated[int, Meta(ge=1)]
    seed: int
    select_by: str
    larger_is_better: bool
    rule: Literal["best", "one-se"]
    candidates: Annotated[tuple[CandidateRecord, ...], Meta(min_length=1)]
    chosen: ChosenRecord

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class HoldoutRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows were held out. usable: rows of the table that could be used; rows: held out.

    fingerprint: of their positions among the usable rows.
    """

    kind: Literal["random", "groups", "time"]
    column: str | None
    fraction: Annotated[float, Meta(gt=0.0, lt=1.0)]
    seed: int
    usable: Count
    rows: Count
    fingerprint: str

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
