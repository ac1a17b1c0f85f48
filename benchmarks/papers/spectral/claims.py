"""What the spectral-risk paper says about a figure, and what our measurements say to that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lrisk_cli.reports.html import Block, Facts, Section

# How often a statement must hold to be upheld: of all cases, generally, often.
ALWAYS, GENERALLY, OFTEN = 1.0, 0.75, 0.5
HOW_OFTEN = {
    ALWAYS: "in every case",
    GENERALLY: 'in three of four cases ("generally")',
    OFTEN: 'in half of the cases ("often")',
}
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement that a statement is about: whether it agrees, and its figures in words."""

    name: str
    holds: bool
    measured: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper. rule: when a case agrees; needed: the share that must."""

    figure: str
    words: str
    rule: str
    cases: Sequence[Case]
    needed: float = ALWAYS

    @property
    def n_agreeing(self) -> int:
        """The cases that agree."""
        return sum(case.holds for case in self.cases)

    @property
    def upheld(self) -> bool:
        """Whether as many cases agree as the statement needs."""
        return self.n_agreeing >= self.needed * len(self.cases)

    @property
    def verdict(self) -> str:
        """Upheld, or not, and in how many cases."""
        word = "upheld" if self.upheld else "not upheld"
        return f"{word}: {self.n_agreeing} of {len(self.cases)} cases"

    @property
    def why(self) -> str:
        """The figures of the cases that disagree, or of some that agree where none does."""
        against = [case for case in self.cases if not case.holds]
        shown = (against or list(self.cases))[:MOST_NAMED]
        words = "; ".join(f"{case.name}: {case.measured}" for case in shown)
        head = "against it: " if against else ""
        more = len(against or self.cases) - len(shown)
        return head + words + (f"; and {more} more" if more else "")

    def block(self) -> Facts:
        """The statement, the rule and the verdict for a page."""
        return Facts(
            [
                ("the paper", self.words),
                ("agrees if", f"{self.rule}; {HOW_OFTEN[self.needed]}"),
                (self.verdict, self.why),
            ]
        )

    def rows(self) -> list[Mapping[str, object]]:
        """Each case as a line of the results."""
        return [
            {
                "figure": self.figure,
                "claim": self.words,
                "upheld": self.upheld,
                "case": case.name,
                "agrees": bool(case.holds),
                "measured": case.measured,
            }
            for case in self.cases
        ]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Figures of the paper that belong together: ours, and its claims."""

    figures: str
    title: str
    lead: str
    blocks: Sequence[Block]
    claims: Sequence[Claim]

    def section(self) -> Section:
        """For the page."""
        blocks = [*self.blocks, *(claim.block() for claim in self.claims)]
        return Section(f"{self.figures}: {self.title}", blocks, lead=self.lead)
