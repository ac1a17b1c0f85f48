"""Do the claims of the spectral-risk paper hold?

Bound: none; each claim is upheld or not by the rule beside it.

Data: the folders `lerm_splits` and `clustering` of the real tables.

R. Mehta et al., Stochastic Optimization for Spectral Risk Measures (2022): the figures that public
data allow. Every verdict follows from measured figures. `make paper` runs it; besides the recorded
results it writes build/paper/index.html.
"""

import os
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from threadpoolctl import threadpool_limits

from benchmarks.common.data import is_missing
from benchmarks.common.record import ROOT, make_parser, start
from benchmarks.papers.figures import clusters as clustering
from benchmarks.papers.figures import losses, training
from benchmarks.papers.figures.claims import Chapter
from benchmarks.papers.figures.page import page
from lrisk_cli.reports.html import write_page

SAME_RANKING = "The same rankings of algorithms result: LSVRG generally outperforms SGD and SRDA."


def chapters() -> Iterator[Chapter]:
    """All figures in the order of the paper; those of one problem are measured together."""
    usual = training.train(training.MEDIUM, 1.0)
    yield training.figure2(usual)
    yield training.figure3()
    yield losses.emotion()
    yield clustering.synthetic()
    yield clustering.digits()
    yield clustering.clothes()
    for number, what, risks, penalty in (
        ("11", "training with mu = 10/n", training.MEDIUM, 10.0),
        ("12", "training with mu = 0.1/n", training.MEDIUM, 0.1),
        ("13", "training with risks near the mean, mu = 1/n", training.EASY, 1.0),
        ("15", "training with risks far from the mean, mu = 1/n", training.HARD, 1.0),
    ):
        yield training.variants(number, what, training.train(risks, penalty), SAME_RANKING)
    yield from losses.regression()
    yield training.figure19(usual)
    yield training.figure20(usual)


def main() -> None:
    options = make_parser(__doc__).parse_args()
    benchmark = start("papers/figures", options)
    if is_missing("lerm_splits") or is_missing("clustering"):
        return
    found: list[Chapter] = []
    with threadpool_limits(1):
        for chapter in chapters():
            print(f"== {chapter.figures}: {chapter.title}", flush=True)
            for claim in chapter.claims:
                print(f"   {claim.verdict}: {claim.words}", flush=True)
            found.append(chapter)
    path = ROOT / "build" / "paper" / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(path, page(found))
    print(f"page written to {path.relative_to(ROOT)}")
    benchmark.finish([row for chapter in found for claim in chapter.claims for row in claim.rows()])


if __name__ == "__main__":
    main()
