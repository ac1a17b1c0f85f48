"""What a fit is asked to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lrisk_cli.api.fit_files import FitFiles
from lrisk_cli.design.choosing import DesignOptions
from lrisk_cli.errors import UsageError
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.options import AfterFit
from lrisk_cli.names import EngineName
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.table import check_apart

if TYPE_CHECKING:
    from lrisk_cli.evaluation.checks import Checks
    from lrisk_cli.evaluation.selection import Scheme


@dataclass(frozen=True, slots=True)
class Job:
    """What to fit and where the results go.

    fits: all to be done or, with a scheme, those to choose from; files: of each of them.
    reference: whether the ordinary fit is shown beside them. theory: whether the theorems are
    applied to each. trace_rows: the column that marks rows to count in traces. notes: what to know
    about the options. after: what models learn from rows that they have not seen; folds: how these
    are left out, unless the scheme does so. checks: gates, where there are any. keep: what a page
    draws of the rows stays in the result, though no page is asked for. engine: where
    sweeps over the rows run; unstreamable: why files cannot be streamed, if so.
    """

    data: Inputs
    dtypes: dict[str, str]
    columns: DesignOptions
    fits: tuple[FitOptions, ...]
    scheme: "Scheme | None"
    seed: int
    holdout: float | None
    test: str | None
    asked: FitFiles
    reference: bool
    theory: bool
    trace_rows: str | None
    notes: tuple[str, ...]
    files: tuple[FitFiles, ...]
    after: AfterFit
    folds: "Scheme | None"
    checks: "Checks | None" = None
    keep: bool = False
    copied: tuple[str, ...] = ()
    engine: EngineName = EngineName.AUTO
    unstreamable: UsageError | None = None

    @property
    def junit(self) -> str | None:
        """Where the results of gates go, if they are wanted."""
        return None if self.checks is None else self.checks.junit

    def check_apart(self, inputs: Sequence[str]) -> None:
        """Refuse outputs that would replace one another or an input."""
        # With a scheme one candidate writes its files, so they may share them.
        written = [tuple(files.by_option.values()) for files in self.files]
        for paths in [sum(written, ())] if self.scheme is None else written:
            check_apart([*paths, self.junit], inputs)
