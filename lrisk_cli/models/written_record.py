"""What a model keeps of how cells of text were written, so that scoring reads them so."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict as fields

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.tables.column_types.numerals import CURRENCIES, Written


class WrittenEntry(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How the cells of a column of text were written.

    decimal: the decimal mark. thousands: the mark between thousands; a blank stands for spaces of
    all kinds. currency: the text that names it. percent: numbers are hundredths. order: of day,
    month and year. spaces: those around texts are part of them. merged:
    texts are without capitals and with single spaces.
    """

    decimal: Literal["", ".", ","] = ""
    thousands: Literal["", ".", ",", "'", " ", "none"] = ""
    currency: str = ""
    percent: bool = False
    order: Literal["", "dmy", "mdy", "ymd"] = ""
    spaces: bool = False
    merged: bool = False


def written_entries(written: Mapping[str, Written]) -> dict[str, WrittenEntry]:
    """The entries of a file."""
    return {
        name: WrittenEntry(
            **{field: getattr(each, field) for field in WrittenEntry.__struct_fields__}
        )
        for name, each in written.items()
    }


def written_from(
    entries: Mapping[str, WrittenEntry],
    features: Sequence[Feature],
    target: str | None = None,
    classes: Sequence[str] = (),
) -> dict[str, Written]:
    """How the cells were written; ValueError for a currency that is not known.

    Texts with spaces around them were learned by a version that kept these, or by an option.
    """
    texts = {each.name: each.categories for each in features if isinstance(each, CategoryFeature)}
    texts |= {} if target is None else {target: tuple(classes)}
    written = {
        name: Written(spaces=True)
        for name, values in texts.items()
        if any(value != value.strip() for value in values)
    }
    known = {"", *(each[0] for each in CURRENCIES)}
    for name, entry in entries.items():
        if entry.currency not in known:
            raise ValueError(f"column '{name}': {entry.currency!r} is no known currency")
        written[name] = Written(**fields(entry))
    return written
