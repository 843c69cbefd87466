"""Findings of the judge, and their kinds."""

from collections import Counter
from dataclasses import dataclass, field

KINDS = ("lost", "doubled", "altered", "silent", "stuck", "secrets")


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of violation, how often, and where."""

    kind: str
    count: int
    text: str


@dataclass(slots=True)
class Verdict:
    """The findings, and the committed records that were gone before they were read, as rows and exit codes say."""

    findings: list[Finding] = field(default_factory=list)
    reported: int = 0

    def counts(self) -> Counter[str]:
        """Return the violations by kind."""
        counts = Counter(dict.fromkeys(KINDS, 0))
        for finding in self.findings:
            counts[finding.kind] += finding.count
        return counts

    @property
    def is_good(self) -> bool:
        """True if nothing was found."""
        return not self.findings
