"""The page of `make paper`: verdicts follow from cases, and page and results give the same."""

import pytest

from benchmarks.papers.figures.claims import ALWAYS, GENERALLY, OFTEN, Case, Chapter, Claim
from benchmarks.papers.figures.page import page
from helpers.pages import check_page
from lrisk_cli.reports.html import render


def claim(agreeing: int, total: int, needed: float) -> Claim:
    cases = [Case(f"case {i}", i < agreeing, f"figure {i}") for i in range(total)]
    return Claim("2", "words", "rule", cases, needed)


@pytest.mark.parametrize(
    ("agreeing", "total", "needed", "upheld"),
    [
        (4, 4, ALWAYS, True), (3, 4, ALWAYS, False), (3, 4, GENERALLY, True),
        (2, 4, GENERALLY, False), (2, 4, OFTEN, True), (1, 4, OFTEN, False), (0, 1, OFTEN, False),
    ],
)  # fmt: skip
def test_a_verdict_follows_from_the_share_of_cases(agreeing, total, needed, upheld):
    made = claim(agreeing, total, needed)
    assert made.upheld is upheld
    word = "upheld" if upheld else "not upheld"
    assert made.verdict == f"{word}: {agreeing} of {total} cases"


def test_cases_against_a_claim_come_first_and_are_counted():
    against = claim(2, 12, GENERALLY)
    assert against.why.startswith("against it: case 2: figure 2; ")
    assert "case 1:" not in against.why
    assert against.why.endswith("and 4 more")
    assert claim(2, 2, ALWAYS).why == "case 0: figure 0; case 1: figure 1"


def test_the_page_and_the_results_give_the_same_verdicts():
    claims = [claim(4, 4, ALWAYS), claim(1, 4, GENERALLY), claim(2, 4, OFTEN)]
    chapters = [
        Chapter("Figure 2", "training", "lead", (), claims[:2]),
        Chapter("Figure 9", "clothes", "lead", (), claims[2:]),
    ]
    root = check_page(render(page(chapters)))
    (table,) = [t for t in root.all("table") if t.attributes["aria-label"] == "Claims of the paper"]
    shown = [[cell.text.replace("\u00a0", " ") for cell in row.all("th", "td")]
             for row in table.all("tr")][1:]  # fmt: skip
    expected = []
    for each in claims:
        cases = each.rows()
        word = "upheld" if cases[0]["upheld"] else "not upheld"
        n_agreeing = sum(bool(case["agrees"]) for case in cases)
        expected.append([each.figure, each.words, f"{word}: {n_agreeing} of {len(cases)} cases"])
    assert shown == expected
    items = " ".join(item.text for item in root.all("li"))
    assert "upheld 2 by the rule" in items
