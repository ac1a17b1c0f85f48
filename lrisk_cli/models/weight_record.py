"""What a model keeps of the weights of the rows that it learned from."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from lrisk_cli.design.design import Design
from lrisk_cli.names import WeightKind

Positive = Annotated[float, Meta(gt=0.0)]


class WeightRecord(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How much the rows of the fit counted: by a column, by the weights of classes, or both.

    sum: of the weights in the fit, by which 1 / sum is the default penalty. effective: Kish's
    effective number of rows, sum^2 over the sum of squares.
    """

    kind: Literal["frequency", "importance"]
    sum: Positive
    effective: Positive
    column: str | None = None
    class_weight: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        plain: dict[str, Any] = to_builtins(self)
        return plain


def weight_record(design: Design) -> WeightRecord | None:
    """How much the rows counted; None where all counted alike."""
    if design.masses is None:
        return None
    by = design.weighting
    return WeightRecord(
        kind=by.kind.value,
        sum=design.total,
        effective=design.effective,
        column=by.column,
        class_weight=None if by.classes is None else by.classes.text,
    )


def weight_kind(record: WeightRecord | None) -> WeightKind:
    """What the weights of the rows are, by the record of a model."""
    return WeightKind.FREQUENCY if record is None else WeightKind(record.kind)
