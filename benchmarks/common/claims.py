"""What a paper says, and what our measurements say to that: upheld, refuted or undecided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lrisk_cli.reports.html import Block, Facts, Page, Section, Table, Tiles

# How often a statement must hold to be upheld: of all cases, generally, often.
ALWAYS, GENERALLY, OFTEN = 1.0, 0.75, 0.5
HOW_OFTEN = {
    ALWAYS: "in every case",
    GENERALLY: 'in three of four cases ("generally")',
    OFTEN: 'in half of the cases ("often")',
}
MOST_NAMED = 6


class Says(StrEnum):
    """What one measurement says to a statement."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    UNCLEAR = "unclear"


class Verdict(StrEnum):
    """What all measurements together say."""

    UPHELD = "upheld"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


def judge(*, agrees: bool, contradicts: bool) -> Says:
    """One rule for yes and another for no; what neither of them covers is unclear."""
    if agrees:
        return Says.AGREES
    return Says.CONTRADICTS if contradicts else Says.UNCLEAR


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement that a statement is about, and its figures in words."""

    name: str
    says: Says
    measured: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a paper. rule: when a case agrees, and when it contradicts.

    needed: the fraction of the cases that must agree. It is refuted when so many contradict that
    the others are not enough, and undecided in between.
    """

    figure: str
    words: str
    rule: str
    cases: Sequence[Case]
    needed: float = ALWAYS

    def count(self, says: Says) -> int:
        """The cases that say so."""
        return sum(case.says is says for case in self.cases)

    @property
    def verdict(self) -> Verdict:
        """A claim without cases is undecided."""
        total = len(self.cases)
        if total == 0:
            return Verdict.UNDECIDED
        if self.count(Says.AGREES) >= self.needed * total:
            return Verdict.UPHELD
        left = total - self.count(Says.CONTRADICTS)
        return Verdict.REFUTED if left < self.needed * total else Verdict.UNDECIDED

    @property
    def summary(self) -> str:
        """ "refuted: 3 of 4 cases agree, 1 contradicts"."""
        parts = [f"{self.count(Says.AGREES)} of {len(self.cases)} cases agree"]
        for says, word in ((Says.CONTRADICTS, "contradict"), (Says.UNCLEAR, "unclear")):
            if self.count(says):
                parts.append(f"{self.count(says)} {word}")
        return f"{self.verdict}: {', '.join(parts)}"

    @property
    def why(self) -> str:
        """The figures of the cases that do not agree, or of some that do where all do."""
        order = (Says.CONTRADICTS, Says.UNCLEAR)
        against = [case for says in order for case in self.cases if case.says is says]
        shown = (against or list(self.cases))[:MOST_NAMED]
        words = "; ".join(f"{case.name} ({case.says}): {case.measured}" for case in shown)
        more = len(against or self.cases) - len(shown)
        return words + (f"; and {more} more" if more else "")

    def block(self) -> Facts:
        """The statement, the rule and the verdict for a page."""
        rule = f"{self.rule}; {HOW_OFTEN[self.needed]}"
        return Facts([("the paper", self.words), ("rule", rule), (self.summary, self.why)])

    def rows(self) -> list[Mapping[str, object]]:
        """Each case as a line of the results."""
        return [
            {
                "figure": self.figure,
                "claim": self.words,
                "verdict": str(self.verdict),
                "case": case.name,
                "says": str(case.says),
                "measured": case.measured,
            }
            for case in self.cases
        ]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Figures of a paper that belong together: ours, and its claims."""

    figures: str
    title: str
    lead: str
    blocks: Sequence[Block]
    claims: Sequence[Claim]

    def section(self) -> Section:
        """For the page."""
        blocks = [*self.blocks, *(claim.block() for claim in self.claims)]
        return Section(f"{self.figures}: {self.title}", blocks, lead=self.lead)


def paper_page(
    name: str, title: str, command: str, found: Sequence[Chapter], notes: Sequence[Block]
) -> Page:
    """Verdicts first, then each figure with its claims; notes: what was done, and what not."""
    claims = [claim for chapter in found for claim in chapter.claims]
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    summary = Table(
        "Claims of the paper",
        ["figure", "claim", "verdict"],
        [[claim.figure, claim.words, claim.summary] for claim in claims],
        texts=3,
    )
    words = {
        Verdict.UPHELD: "by the rule beside each",
        Verdict.REFUTED: "with the figures against it",
        Verdict.UNDECIDED: "the figures allow neither",
    }
    tiles = [("claims examined", str(len(claims)), f"on {len(found)} groups of figures")]
    tiles += [(str(verdict), str(counts[verdict]), words[verdict]) for verdict in Verdict]
    sections = [
        Section("Verdicts", [Tiles(tiles), summary]),
        *(chapter.section() for chapter in found),
        Section("What was done, and what was not", list(notes)),
    ]
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    return Page(name, title, f"{told} of {len(claims)} claims.", sections, command, timed=True,
                program="make")  # fmt: skip
