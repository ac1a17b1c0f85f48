"""Export a model: read it, translate it, write it."""

from dataclasses import dataclass

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.exports.options import Export
from lrisk_cli.models.loading import load_model
from lrisk_cli.models.options import ModelFile
from lrisk_cli.names import ExportFormat
from lrisk_cli.tables.named_columns import split_list
from lrisk_cli.tables.table import check_apart, check_output, write_bytes

# What the SELECT reads where no table is named.
TABLE = "rows"


@dataclass(frozen=True, slots=True)
class Job:
    """Which model becomes what, and where it goes; None for nowhere."""

    model: str
    to: ExportFormat
    table: str
    id_column: str | None
    date_columns: tuple[str, ...]
    output: str | None


def make_job(model: ModelFile, export: Export) -> Job:
    """What the options ask for; idle ones are refused."""
    to = ExportFormat(export.to)
    if to is not ExportFormat.SQL:
        idle = {"table": export.table, "id": export.id_column, "date_columns": export.date_columns}
        for name, given in idle.items():
            if given:
                raise InvalidOption(name, f"is used by {opt('to', ExportFormat.SQL)} only")
    if to is ExportFormat.ONNX and export.output is None:
        raise InvalidOption("to", f"is no text; name a file with {opt('output')}", to)
    dates = tuple(split_list(export.date_columns))
    return Job(model.model, to, export.table or TABLE, export.id_column, dates, export.output)


def run(job: Job, *, force: bool) -> bytes:
    """The model in the other language, which is also written if a file is named."""
    if job.output is not None:
        check_output(job.output, force=force)
        check_apart([job.output], [job.model])
    found = _translate(job)
    if job.output is not None:
        write_bytes(job.output, found)
    return found


def _translate(job: Job) -> bytes:
    model = load_model(job.model)
    if job.to is ExportFormat.ONNX:
        from lrisk_cli.exports.onnx_graph import to_onnx

        return to_onnx(job.model, model)
    from lrisk_cli.exports.linear import require_linear

    linear = require_linear(job.model, model, job.to)
    if job.to is ExportFormat.PYTHON:
        from lrisk_cli.exports.python_code import to_python

        return to_python(linear).encode()
    from lrisk_cli.exports.sql import to_sql

    return to_sql(job.model, linear, job.table, job.id_column, job.date_columns).encode()
