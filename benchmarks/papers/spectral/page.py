"""What the page of the spectral-risk paper says of its own making."""

from collections.abc import Sequence

from benchmarks.common.claims import Chapter, paper_page
from lrisk_cli.reports.html import Facts, Notes, Page

NOT_DONE = (
    "Figure 1 explains notions and shows no measurement.",
    "Figure 4 (iWildCam) needs features of 20,000 training images, which are not public; the 5,000 "
    "validation rows stand in for them, and what is measured is about these.",
    "Of Figure 6 to 9 the paper does not say which images it drew; we take the first in the order "
    "of the files. Figure 20 leaves iWildCam out.",
    "Two rules of earlier versions were changed after they had been seen to fail in one direction "
    "only; every rule now says what would contradict the claim. The rule for linear courses looks "
    "at the last quarter of the epochs in place of the last half; below Figure 2 stands what the "
    "earlier one gives.",
)


def page(found: Sequence[Chapter], command: str) -> Page:
    """Verdicts first, then each figure with its claims."""
    method = Facts(
        [
            ("paper", "R. Mehta, V. Roulet, K. Pillutla, L. Liu, Z. Harchaoui: Stochastic "
             "Optimization for Spectral Risk Measures (2022)"),
            ("verdicts", "computed from what was measured in this run, by the rule beside each "
             "claim; words such as \"generally\" are given numbers there"),
            ("minima", "proved by lrisk's own certificates"),
        ]
    )  # fmt: skip
    title = "Figures of the spectral-risk paper, measured again"
    return paper_page("paper", title, command, found, [method, Notes(NOT_DONE)])
