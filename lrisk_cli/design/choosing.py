"""Options and the columns of a table -> the features, the target, what other columns are for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lrisk_cli.design.columns.base import CategoryLimits
from lrisk_cli.design.groups import find_group_columns
from lrisk_cli.design.weights import UNWEIGHTED, Weighting
from lrisk_cli.errors import DataError, InvalidOption, UsageError, opt
from lrisk_cli.names import Dates, Missing, Scaling, Standardize, TargetScale, Task, Unseen
from lrisk_cli.tables.column_types.number import NUMBER
from lrisk_cli.tables.named_columns import find_columns
from lrisk_cli.tables.table import Column, Table

# Categories of a column that get a column of X each: in any fit, and where thousands cost little.
FEW_CATEGORIES, MANY_CATEGORIES = 100, 10_000
TWO_CLASSES = 2


@dataclass(frozen=True, slots=True)
class DesignOptions:
    """Which columns are used and how. features: all but target, id and excluded, when empty.

    features, exclude: texts that name columns, as `find_columns` reads them.
    target: None for clusters, whose design has features only. aside: a column that is no feature
    though the caller reads it, and the option that names it. exposure: the column of exposures,
    for losses that take one. scale_target, scale_features: whether they may be standardised at all.
    divider: the column by which rows are divided into folds, and the option that names it. spare:
    columns that have another use, by the option that names them; they are features only if named as
    such. by: texts that name the columns of groups, which are no features either unless named as
    such. max_categories: None for what costs little, see `category_limits`; many_categories:
    thousands do. pixels: the features are grey values, so few whole numbers are no codes.
    on_scale: the logarithm of the target that is fitted, if any. weighting: how much rows count.
    """

    target: str | None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    id_column: str | None = None
    task: Task = Task.AUTO
    missing: Missing = Missing.ERROR
    unseen: Unseen = Unseen.ERROR
    max_categories: int | None = None
    many_categories: bool = False
    dates: Dates = Dates.NUMBER
    standardize: Standardize = Standardize.BOTH
    scaling: Scaling = Scaling.DEVIATION
    intercept: bool = True
    aside: tuple[str, str] | None = None
    exposure: str | None = None
    scale_target: bool = True
    scale_features: bool = True
    divider: tuple[str, str] | None = None
    spare: tuple[tuple[str, str], ...] = ()
    by: tuple[str, ...] = ()
    pixels: bool = False
    on_scale: TargetScale = TargetScale.NONE
    weighting: Weighting = UNWEIGHTED

    def category_limits(self, n_classes: int) -> CategoryLimits:
        """How many categories of a column get a column of X of their own, by cost unless named.

        With several outputs second derivatives of many columns are expensive.
        """
        if self.max_categories is not None:
            return CategoryLimits(self.max_categories, self.max_categories)
        many = self.many_categories and n_classes <= TWO_CLASSES
        return CategoryLimits(FEW_CATEGORIES, MANY_CATEGORIES if many else FEW_CATEGORIES)


def choose_columns(
    table: Table, options: DesignOptions
) -> tuple[tuple[Column, ...], Column | None]:
    """The feature columns, in the order asked for or that of the file, and the target."""
    target = None if options.target is None else table.column(options.target)
    taken = _taken_columns(table, options, target)
    # Only the target cannot be excluded: the others are no features anyway.
    features = _named(table, "features", options.features, taken)
    exclude = _named(
        table, "exclude", options.exclude, {t: taken[t] for t in [options.target] if t}
    )
    if target is not None and options.id_column == options.target:
        raise InvalidOption(
            "id_column", f": '{options.target}' is the target; choose another column"
        )
    asked = features or [column.name for column in table.columns]
    left = [name for name in asked if name not in taken and name not in exclude]
    if not left and not exclude:
        raise DataError(f"{table.label}: no column is left to learn from; add one to the table")
    if not left:
        raise UsageError(f"{table.label}: no features are left; exclude fewer columns")
    return tuple(_feature_column(table, name, options.dates) for name in left), target


def _named(table: Table, option: str, texts: Sequence[str], taken: Mapping[str, str]) -> list[str]:
    """The columns that an option names, each once; patterns leave out those that are taken."""
    names = [column.name for column in table.columns]
    found: dict[str, bool] = {}
    for column in find_columns(texts, names, table.label):
        name = column.name
        if name in taken and not column.by_pattern:
            raise InvalidOption(option, f": '{name}' is {taken[name]}; leave it out there")
        if found.get(name) and not column.by_pattern:
            raise InvalidOption(option, f": '{name}' is named twice; name it once")
        found[name] = found.get(name, False) or not column.by_pattern
    return [name for name in found if name not in taken]


def _taken_columns(table: Table, options: DesignOptions, target: Column | None) -> dict[str, str]:
    """The columns that are no features, and what each of them is."""
    taken = {} if target is None else {target.name: "the target"}
    if options.id_column is not None:
        table.column(options.id_column)
        taken.setdefault(options.id_column, f"the {opt('id_column')} column")
    if options.aside is not None:
        option, name = options.aside
        taken.setdefault(table.column(name).name, f"the {opt(option)} column")
    if options.exposure is not None:
        _check_number_column(table, "exposure", options.exposure, taken)
    if options.weighting.column is not None:
        _check_number_column(table, "weight", options.weighting.column, taken)
    names = [column.name for column in table.columns]
    by = find_group_columns(table, options.by) if options.by else ()
    for option, name in (*_spare_columns(options), *(("by", name) for name in by)):
        table.column(name)
        named = find_columns(options.features, names, table.label)
        # Named as a feature it is one, and serves its other purpose as well.
        if not any(each.name == name and not each.by_pattern for each in named):
            taken.setdefault(name, f"the {opt(option)} column")
    return taken


def _spare_columns(options: DesignOptions) -> Iterator[tuple[str, str]]:
    """Columns that have another use, each with the option that names it."""
    if options.exposure is not None:
        yield "exposure", options.exposure
    if options.weighting.column is not None:
        yield "weight", options.weighting.column
    if options.divider is not None:
        yield options.divider
    yield from options.spare


def _check_number_column(table: Table, option: str, name: str, taken: dict[str, str]) -> None:
    """Refuse a column of exposures or weights that holds no numbers, or has a task."""
    if name in taken:
        raise InvalidOption(option, f": '{name}' is {taken[name]}; choose another column")
    if not table.column(name).numeric:
        raise InvalidOption(option, f": '{name}' holds no numbers; choose another column")


def _feature_column(table: Table, name: str, dates: Dates) -> Column:
    """The column of that name; dates are plain numbers unless their parts are asked for."""
    column = table.column(name)
    plain = column.kind == "date" and dates is not Dates.PARTS
    return replace(column, type=NUMBER) if plain else column
