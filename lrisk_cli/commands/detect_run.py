"""The work of `lrisk detect-outliers`: rows with losses -> border, ranking, reasons, files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands.checks import Checks
from lrisk_cli.commands.clock import Clock
from lrisk_cli.progress import Report

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.commands.detect_subjects import Looked, Subject
    from lrisk_cli.evaluation.metrics import Figures
    from lrisk_cli.outliers.reasons import Reasons
    from lrisk_cli.reports.outliers import Found, TopRow
    from lrisk_cli.risk.spectrum import Spectrum

    Places = NDArray[np.intp]

_CHUNK = 65_536
# Points of the curve of scores.
_MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for beside the rows."""

    contamination: float | None
    top: int
    checks: Checks
    output: str | None
    save_model: str | None
    html: str | None
    model: str | None

    @property
    def outputs(self) -> list[str | None]:
        """All files to be written."""
        return [self.output, self.save_model, self.html, self.checks.junit]


def run(
    job: Job, make: "Callable[[Report], Subject]", *, force: bool, quiet: bool, bar: bool
) -> "Found":
    """Have the subject made, rank its rows, explain the top, write. make: reads and fits."""
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_output

    for path in job.outputs:
        if path is not None:
            check_output(path, force=force, table=path == job.output)
    clock = Clock()
    with ProgressDisplay("detect-outliers", quiet=quiet, bar=bar) as report:
        subject = make(report)
        clock.lap("fit_s" if job.model is None else "score_s")
        found = _rank(job, subject)
        clock.lap("rank_s")
        _write(job, subject, found)
        clock.lap("write_s")
    return found.timed(clock.timings())


def _rank(job: Job, subject: "Subject") -> "Found":
    """What was found; the ranking is written on the way, before the losses are sorted."""
    import numpy as np

    from lrisk_cli.evaluation.metrics import parse_risks
    from lrisk_cli.evaluation.rankings import largest_first
    from lrisk_cli.reports.outliers import Found
    from lrisk_cli.tables.table import write_parts

    losses = subject.losses
    flags = _flag(subject)
    first = largest_first(losses, job.top)
    told = first if job.output is None and job.html is None else np.flatnonzero(flags)
    told = np.union1d(told, first)
    looked = subject.look(told, job.output is not None)
    top = _top_rows(subject, flags, first, told, looked, whole=job.output is not None)
    if job.output is not None:
        write_parts(job.output, _ranking_parts(subject, flags, told, looked))
    figures = _figures(subject, flags, parse_risks(job.checks.risks or ["mean"]))
    return Found(
        model=subject.model,
        model_path=job.model or job.save_model,
        fitted=job.model is None,
        counts=subject.rows.counts(),
        contamination=job.contamination,
        border=subject.border,
        n_outliers=int(np.count_nonzero(flags)),
        figures=figures,
        top=top,
        named=_count_named(looked.reasons),
        curve=_curve(subject),
        verdicts=job.checks.judge(figures),
        notes=subject.notes,
        ranking_path=job.output,
    )


def _flag(subject: "Subject") -> "NDArray[np.bool_]":
    """Which rows are outliers, some at a time: scores of all would take memory. (n,)."""
    import numpy as np

    from lrisk_cli.commands.detect_subjects import loss_kind
    from lrisk_cli.robust.scale_mixture import scores

    flags = np.empty(len(subject.losses), np.bool_)
    kind, border = loss_kind(subject.model), subject.border
    for start in range(0, len(flags), _CHUNK):
        some = slice(start, start + _CHUNK)
        flags[some] = scores(subject.losses[some], kind, border) > border.threshold
    return flags


def _scores(subject: "Subject", places: Any) -> Any:
    from lrisk_cli.commands.detect_subjects import loss_kind
    from lrisk_cli.robust.scale_mixture import scores

    return scores(subject.losses[places], loss_kind(subject.model), subject.border)


def _top_rows(
    subject: "Subject",
    flags: Any,
    first: "Places",
    told: "Places",
    looked: "Looked",
    *,
    whole: bool,
) -> "list[TopRow]":
    """The first rows of the ranking with their reasons. whole: `looked` names all rows."""
    import numpy as np

    from lrisk_cli.reports.outliers import TopRow

    at = np.searchsorted(told, first)
    named = (first if whole else at).tolist()
    ids = None if looked.ids is None else _spell_ids(looked.ids.take(np.asarray(named)))
    found = _scores(subject, first).tolist()
    return [
        TopRow(
            rank=k + 1,
            row=int(looked.rows[named[k]]),
            id=None if ids is None else ids[k],
            loss=float(subject.losses[place]),
            score=found[k],
            is_outlier=bool(flags[place]),
            reason=looked.reasons.sentences[at[k]],
            parts=looked.reasons.of(at[k]),
        )
        for k, place in enumerate(first.tolist())
    ]


def _spell_ids(ids: "pa.Array") -> list[str | int | None]:
    """Whole numbers and texts as they are, anything else (dates, fractions) as text."""
    return [
        value if value is None or isinstance(value, str | int) else str(value)
        for value in ids.to_pylist()
    ]


def _ranking_parts(
    subject: "Subject", flags: Any, told: "Places", looked: "Looked"
) -> Iterator[dict[str, Any]]:
    """The file, some rows at a time: the most outlying first, with reasons where there are some."""
    import numpy as np
    import pyarrow as pa

    from lrisk_cli.evaluation.rankings import rank_places

    order = rank_places(subject.losses)
    for start in range(0, len(order), _CHUNK):
        places = order[start : start + _CHUNK]
        columns: dict[str, Any] = {
            "rank": np.arange(start + 1, start + 1 + len(places)),
            "row": looked.rows[places],
        }
        if looked.ids is not None:
            columns["id"] = looked.ids.take(pa.array(places))
        yield columns | {
            "loss": subject.losses[places],
            "score": _scores(subject, places),
            "is_outlier": flags[places].astype(np.int8),
            **_reason_columns(looked.reasons, told, places),
        }


def _reason_columns(reasons: "Reasons", told: "Places", places: "Places") -> dict[str, Any]:
    """Reasons of the rows at these places; null where none are told. told: ascending."""
    import numpy as np
    import pyarrow as pa

    from lrisk_cli.tables.arrays import arrow_texts

    at = np.minimum(np.searchsorted(told, places), len(told) - 1)
    silent = told[at] != places
    spoken = reasons.take(at[~silent])
    where = np.cumsum(~silent) - 1
    index = pa.array(where, mask=silent)
    columns: dict[str, Any] = {"reason": arrow_texts(spoken.sentences).take(index)}
    names = arrow_texts(reasons.columns)
    for k in range(reasons.named.shape[1]):
        named, parts = spoken.named[:, k], spoken.parts[:, k]
        columns[f"reason_{k + 1}"] = names.take(pa.array(named, mask=named < 0)).take(index)
        columns[f"contribution_{k + 1}"] = pa.array(parts, from_pandas=True).take(index)
    return columns


def _figures(subject: "Subject", flags: Any, spectra: "tuple[Spectrum, ...]") -> "Figures":
    """What gates can ask for. The losses are sorted thereby: nothing else needs them any more."""
    from lrisk_cli.evaluation.metrics import risk_figures
    from lrisk_cli.evaluation.registry import Needs, figures_of
    from lrisk_cli.risk.value import sort_losses

    return {
        **figures_of(flags, [Needs.FLAGS]),
        **figures_of(subject.rows, [Needs.ROWS, Needs.CELLS]),
        **risk_figures(sort_losses(subject.losses), spectra),
    }


def _curve(subject: "Subject") -> Any:
    """Ranks, even on a logarithmic axis, and their scores, of losses that are sorted. (2, m)."""
    import numpy as np

    n_rows = len(subject.losses)
    ranks = np.unique(np.rint(np.geomspace(1, n_rows, _MOST_POINTS)).astype(np.intp))
    return np.stack([ranks, _scores(subject, n_rows - ranks)])


def _count_named(reasons: "Reasons") -> dict[str, int]:
    """How often each column comes first among the reasons, the most frequent first."""
    import numpy as np

    first = reasons.named[:, 0]
    counts = np.bincount(first[first >= 0], minlength=len(reasons.columns))
    order = np.argsort(-counts, kind="stable")
    return {reasons.columns[k]: int(counts[k]) for k in order.tolist() if counts[k]}


def _write(job: Job, subject: "Subject", found: "Found") -> None:
    """The page and the model."""
    from lrisk_cli.models.cluster_model import ClusterModel, save_clusters
    from lrisk_cli.models.model import save_model

    if job.html is not None:
        from lrisk_cli.commands.options import command_line
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.outlier_page import outlier_page

        write_page(job.html, outlier_page(found, command_line()))
    if job.save_model is not None:
        if isinstance(subject.model, ClusterModel):
            save_clusters(job.save_model, subject.model)
        else:
            save_model(job.save_model, subject.model)
