"""The record of a fit to rows that were streamed."""

from msgspec.structs import replace

from lrisk_cli.models.model_file import FitRecord


def streamed_record(record: FitRecord, n_rows: int, digest: str) -> FitRecord:
    """The record of a fit whose problem was that of a sample of n_rows rows. digest: of all."""
    return replace(record, rows_used=n_rows, training_rows=digest, engine="stream")
