"""How an experiment's arms answer beside their baseline, input by input. Pure."""

from dataclasses import dataclass, field
from heapq import nlargest
from typing import Final

import numpy as np

from answers import Array, Distance, Tolerance, differences, distances, value_text
from controlplane.golden.asking import Outcome, Status, as_arrays
from controlplane.golden.inputs import Input

MOST_SHOWN: Final = 10  # inputs that differ, of one arm
MOST_VALUES: Final = 10  # of one tensor
MOST_TENSORS: Final = 16  # of one input or answer


@dataclass(slots=True)
class OutputAgreement:
    """One output of a model, over all inputs that both answered. ``best`` of ``rows`` had the same
    best class; 0 rows: it is no scores of classes."""

    model: str
    output: str
    compared: int = 0
    agreed: int = 0
    schema: int = 0
    schema_text: str = ""
    largest: float | None = None
    rows: int = 0
    best: int = 0

    def add(self, found: Distance) -> None:
        self.compared += 1
        self.agreed += found.agrees
        self.rows += found.rows
        self.best += found.best
        if found.schema:
            self.schema += 1
            self.schema_text = found.schema
        if found.largest is not None:
            self.largest = max(found.largest, self.largest or 0.0)


@dataclass(frozen=True, slots=True)
class Values:
    """An output of both, as texts, where the answers differ most; all of it where that is few.
    ``baseline`` and ``own``: empty where there is no such value."""

    output: str
    text: str
    at: tuple[tuple[int, ...], ...] = ()
    baseline: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Differing:
    """One input that an arm answered otherwise than the baseline. ``inputs``: its tensors as
    texts."""

    asked: Input
    deployment: str
    model: str
    text: str
    rank: tuple[bool, bool, int, float]
    inputs: tuple[str, ...]
    outputs: tuple[Values, ...] = ()


@dataclass(slots=True)
class Expected:
    """Golden cases, beside what they expect."""

    cases: int = 0
    wrong: int = 0
    unanswered: int = 0


@dataclass(slots=True)
class ArmAgreement:
    """One arm beside the baseline; the baseline beside itself, asked twice. ``compared``: inputs
    that the baseline answered, and this arm answered or refused, which agrees with nothing.
    ``unanswered``: nothing is known. ``refused`` of the baseline: of what it was asked first, and
    nobody is compared there."""

    deployment: str
    compared: int = 0
    agreed: int = 0
    refused: int = 0
    unanswered: int = 0
    schema: int = 0
    golden: Expected = field(default_factory=Expected)
    outputs: dict[tuple[str, str], OutputAgreement] = field(default_factory=dict)
    differing: list[Differing] = field(default_factory=list)

    def told_expected(self, own: Outcome) -> None:
        self.golden.cases += 1
        self.golden.wrong += own.wrong
        self.golden.unanswered += own.status == Status.UNANSWERED

    def told(self, asked: Input, first: Outcome, own: Outcome, tolerance: Tolerance) -> None:
        """``first``: the baseline's answer to the same; it has answered."""
        if own.status == Status.UNANSWERED:
            self.unanswered += 1
            return
        self.compared += 1
        if own.status == Status.REFUSED:
            self.refused += 1
            self._differs(asked, own, text=own.text, rank=(True, False, 0, 0.0))
            return
        wanted, got = as_arrays(first.outputs), as_arrays(own.outputs)
        found = distances(wanted, got, tolerance)
        for one in found:
            key = (own.model, one.output)
            self.outputs.setdefault(key, OutputAgreement(*key)).add(one)
        other_schema = any(one.schema for one in found)
        self.schema += other_schema
        if all(one.agrees for one in found):
            self.agreed += 1
            return
        differing = [one for one in found if not one.agrees]
        texts = {one.output: one.text for one in differences(wanted, got, tolerance)}
        self._differs(
            asked,
            own,
            text="; ".join(f"{name} {text}" for name, text in texts.items()),
            rank=(
                False,
                other_schema,
                sum(one.rows - one.best for one in found),
                max(one.tolerances for one in found),
            ),
            outputs=tuple(
                _values(one, wanted[one.output], got.get(one.output), texts[one.output])
                for one in differing[:MOST_TENSORS]
            ),
        )

    def _differs(
        self,
        asked: Input,
        own: Outcome,
        *,
        text: str,
        rank: tuple[bool, bool, int, float],
        outputs: tuple[Values, ...] = (),
    ) -> None:
        inputs = as_arrays(asked.call.inputs[:MOST_TENSORS])
        one = Differing(
            asked=asked,
            deployment=self.deployment,
            model=own.model,
            text=text,
            rank=rank,
            inputs=tuple(_tensor_text(name, *told) for name, told in inputs.items()),
            outputs=outputs,
        )
        # why at each: answers may be large, and only these are kept
        self.differing = nlargest(MOST_SHOWN, [*self.differing, one], key=lambda one: one.rank)


def _values(
    found: Distance, wanted: tuple[str, Array], got: tuple[str, Array] | None, text: str
) -> Values:
    if found.schema or got is None:
        return Values(found.output, text)
    (_, expected), (_, answered) = wanted, got
    few = expected.size <= MOST_VALUES
    at = tuple(np.ndindex(expected.shape)) if few else found.at[:MOST_VALUES]
    return Values(
        found.output,
        text,
        at,
        tuple(value_text(expected[where]) for where in at),
        tuple(value_text(answered[where]) for where in at),
    )


def _tensor_text(name: str, datatype: str, values: Array) -> str:
    flat = values.ravel()
    shown = ", ".join(value_text(one) for one in flat[:MOST_VALUES])
    more = ", …" if flat.size > MOST_VALUES else ""
    return f"{name} {datatype} {list(values.shape)}: {shown}{more}"
