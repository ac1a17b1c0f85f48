"""Do the claims of the spectral-risk paper hold?

Bound: none; each claim is upheld, refuted or undecided by the rule beside it.

Data: the folders `lerm_splits` and `clustering` of the real tables.

R. Mehta et al., Stochastic Optimization for Spectral Risk Measures (2022): all figures that public
data allow. Every verdict follows from measured figures. `make paper` runs it; besides the recorded
results it writes build/paper/spectral.html. --quick takes two seeds, four steps and fewer sets.
"""

import os
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.common.claims import Chapter
from benchmarks.common.data import is_missing
from benchmarks.common.pool import KEEPER
from benchmarks.common.record import ROOT, make_parser, start
from benchmarks.papers.spectral import clusters as clustering
from benchmarks.papers.spectral import losses, smoothing, training
from benchmarks.papers.spectral.page import page
from benchmarks.papers.spectral.runs import FULL, QUICK, REGRESSION, Effort
from lrisk_cli.reports.html import write_page

N_DRAWS = 20
VARIANTS = (
    ("11", "training with mu = 10/n", training.MEDIUM, 10.0),
    ("12", "training with mu = 0.1/n", training.MEDIUM, 0.1),
    ("13", "training with risks near the mean, mu = 1/n", training.EASY, 1.0),
    ("15", "training with risks far from the mean, mu = 1/n", training.HARD, 1.0),
)
EMOTION = (
    "8000 tweets in 45 features, 6 classes, multinomial loss, mu = 1/n, N = 1000, as many gradient "
    "evaluations as in 64 epochs of SGD."
)
STAND_IN = (
    "A stand-in: the 5000 validation rows of iWildCam in place of its 20,000 training rows, which "
    "are not public; 157 features, 60 classes, of which 47 occur; the paper's 5000 test rows. N = "
    "100, as many gradient evaluations as in 64 epochs of SGD (the paper does not say how many)."
)


def chapters(effort: Effort, *, quick: bool) -> Iterator[Chapter]:
    """All figures in the order of the paper; those of one problem are measured together."""
    usual = training.train("Figure 2", REGRESSION, training.MEDIUM, 1.0, effort, ours=True)
    yield training.figure2(usual)
    yield training.figure3(usual, effort)
    if not quick:
        names = ("emotion", "iwildcam")
        classes = training.train("Figures 4 and 5", names, training.MEDIUM, 1.0, effort)
        yield losses.classes("4", "iwildcam", classes, STAND_IN, " (of the stand-in)", effort)
        yield losses.classes("5", "emotion", classes, EMOTION, "", effort)
        usual = {**usual, **{key: each for key, each in classes.items() if key[0] == "emotion"}}
    yield clustering.synthetic(5 if quick else N_DRAWS)
    yield clustering.digits()
    yield clustering.clothes()
    for number, what, risks, penalty in VARIANTS[:1] if quick else VARIANTS:
        panels = training.train(f"Figure {number}", REGRESSION, risks, penalty, effort)
        yield training.variants(number, what, panels)
    yield from losses.regression(effort)
    yield smoothing.figure19(effort)
    yield training.figure20(usual)


def main() -> None:
    options = make_parser(__doc__, "two seeds, four steps, regression only").parse_args()
    benchmark = start("papers/spectral", options)
    KEEPER.folder = benchmark.parts
    if is_missing("lerm_splits") or is_missing("clustering"):
        return
    found: list[Chapter] = []
    for chapter in chapters(QUICK if options.quick else FULL, quick=options.quick):
        print(f"== {chapter.figures}: {chapter.title}", flush=True)
        for claim in chapter.claims:
            print(f"   {claim.summary}: {claim.words}", flush=True)
        found.append(chapter)
    path = ROOT / "build" / "paper" / "spectral.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(path, page(found, "make paper-quick" if options.quick else "make paper"))
    print(f"page written to {path.relative_to(ROOT)}")
    benchmark.finish([row for chapter in found for claim in chapter.claims for row in claim.rows()],
                     KEEPER.seconds)  # fmt: skip


if __name__ == "__main__":
    main()
