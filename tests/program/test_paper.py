"""The page of `make paper`: verdicts follow from cases, and page and results tell the same."""

import json
import sys
from pathlib import Path

import pytest

from helpers.pages import check_page

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from paper_claims import ALWAYS, GENERALLY, OFTEN, Case, Claim  # noqa: E402


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


def test_cases_against_a_claim_are_told_first_and_counted():
    against = claim(2, 12, GENERALLY)
    assert against.why.startswith("against it: case 2: figure 2; ")
    assert "case 1:" not in against.why
    assert against.why.endswith("and 4 more")
    assert claim(2, 2, ALWAYS).why == "case 0: figure 0; case 1: figure 1"


def test_the_page_and_the_results_tell_the_same_verdicts():
    root = check_page((BENCHMARKS / "paper" / "index.html").read_text("utf-8"))
    results = json.loads((BENCHMARKS / "results" / "paper.json").read_text("utf-8"))
    claims: dict[tuple[str, str], list[dict]] = {}
    for row in results["rows"]:
        claims.setdefault((row["figure"], row["claim"]), []).append(row)
    expected = []
    for (figure, words), cases in claims.items():
        word = "upheld" if cases[0]["upheld"] else "not upheld"
        n_agreeing = sum(case["agrees"] for case in cases)
        expected.append([figure, words, f"{word}: {n_agreeing} of {len(cases)} cases"])
    (table,) = [t for t in root.all("table") if t.attributes["aria-label"] == "Claims of the paper"]
    shown = [[cell.text.replace("\u00a0", " ") for cell in row.all("th", "td")]
             for row in table.all("tr")][1:]  # fmt: skip
    assert shown == expected
    told = " ".join(item.text for item in root.all("li"))
    assert f"upheld {sum(cases[0]['upheld'] for cases in claims.values())} by the rule" in told
