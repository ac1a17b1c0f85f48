"""What fits are judged by: the table to test on, and gates."""

from dataclasses import replace
from typing import TYPE_CHECKING

from lrisk_cli.api.fit_result import Fits
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.tables.table import Table, open_table

if TYPE_CHECKING:
    from lrisk_cli.api.fit_job import Job


def open_test(job: "Job", encoding: Encoding) -> Table:
    """The table to test on; it is refused before the solver starts if a column is absent."""
    from lrisk_cli.models.scoring import columns_of

    inputs = job.data.beside(str(job.test))
    table = open_table(inputs, expected=encoding.dtypes, written=encoding.written)
    job.check_apart(table.paths)
    for name in columns_of(encoding):
        table.column(name)
    return table


def with_gates(job: "Job", fits: Fits) -> Fits:
    """The same with the results of the gates, where there are any."""
    if job.checks is None:
        return fits
    from lrisk_cli.api.figure_gates import check_fits

    return replace(fits, gate_results=check_fits(job.checks, fits))
