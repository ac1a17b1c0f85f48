"""Foretell a fit: the rows and columns that it would read, and the memory that it would take."""

from lrisk_cli.api.fit_job import Job
from lrisk_cli.design.planning import Plan, plan_design
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.features.features import count_values
from lrisk_cli.names import KernelName
from lrisk_cli.progress import Report
from lrisk_cli.tables.table import open_table


def plan(job: Job, report: Report) -> Plan:
    """One pass over the table; nothing is fitted and nothing written."""
    features = job.fits[0].features

    def values(n_rows: int) -> int:
        found = count_values(features, n_rows)
        if found is None:
            if features.embeds:
                raise InvalidOption(
                    "dry_run", "cannot foresee how many principal components will be kept"
                )
            raise InvalidOption(
                "dry_run",
                f"cannot foresee how many landmarks {opt('rank', 'auto')} takes; pass "
                f"{opt('rank', 'N')}",
            )
        return found

    linear = features.kernel is KernelName.LINEAR and not features.embeds
    flat = all(fit.risk.flat for fit in job.fits)
    table = open_table(job.data, dtypes=job.dtypes)
    return plan_design(
        table, job.columns, flat=flat, values=None if linear else values, report=report
    )
