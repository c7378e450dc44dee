"""Pure: a cause as people are told of it, and the words for its figures."""

from dataclasses import dataclass
from typing import Final

from controlplane.bottlenecks.facts import Facts
from controlplane.bottlenecks.kinds import KINDS, Kind

SECOND: Final = 0.5  # of the time that a likelier cause claims whole
OFTEN: Final = 0.5  # of requests, or of what is shared


@dataclass(frozen=True, slots=True)
class Finding:
    """``code`` is one of ``KINDS``. ``us``: what it claims of a mean request. ``where`` is a model,
    a node, or empty."""

    code: str
    text: str
    us: float
    where: str = ""

    @property
    def kind(self) -> Kind:
        return KINDS[self.code]

    @property
    def title(self) -> str:
        return self.kind.title

    @property
    def change(self) -> str:
        return self.kind.change

    @property
    def area(self) -> str:
        return self.kind.area

    @property
    def inside(self) -> bool:
        return self.kind.inside

    @property
    def because(self) -> str:
        """The title inside a sentence."""
        return f"{self.title[0].lower()}{self.title[1:]}"


def duration(us: float) -> str:
    if us < 1000:
        return f"{us:.0f} µs"
    return f"{us / 1000:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def share(us: float, facts: Facts) -> str:
    return f"{100 * min(1.0, us / facts.total_us):.0f} %" if facts.total_us else "0 %"


def size(count: float) -> str:
    for unit, least in (("MB", 1e6), ("kB", 1e3)):
        if count >= least:
            return f"{count / least:.3g} {unit}"
    return f"{count:.0f} bytes"
