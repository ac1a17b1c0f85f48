"""`lrisk export`: a model in another language."""

import sys
from typing import Annotated

from lrisk_cli.commands.options.declared import only
from lrisk_cli.exports.options import Export
from lrisk_cli.models.options import ModelFile
from lrisk_cli.reports.options import Messages
from lrisk_cli.tables.options import Files


def export(
    model: ModelFile,
    output: Export,
    files: Annotated[Files, only("force")],
    messages: Annotated[Messages, only("color", "verbose")],  # noqa: ARG001  (read by main)
) -> None:
    """Write a model as SQL, Python or ONNX.

    The predictions are those of `lrisk predict`. A row that it would refuse or leave out has NULL
    in SQL, NaN in ONNX, and raises ValueError in Python.

    Examples:
        lrisk export model.json --to sql --table wine -o model.sql
        lrisk export model.json --to python -o model.py
        lrisk export clusters.json --to onnx -o clusters.onnx
    """
    from lrisk_cli.api.export import make_job, run

    job = make_job(model, output)
    found = run(job, force=files.force)
    if job.output is None:
        sys.stdout.buffer.write(found)
        sys.stdout.buffer.flush()
