"""The pure parts of ensembles: what is pruned, what is ready, which shapes fit."""

import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    FakeServed,
    ensemble_text,
    model_text,
    parsed,
    step_text,
)
from worker_runtime.core.scheduling.ensemble.graph import Due, EnsembleGraph, Flow, Tensor, adapted
from worker_runtime.core.scheduling.ensemble.outputs import labelled, sequence_parameters
from worker_runtime.core.scheduling.ensemble.steps import StepLimiter
from worker_runtime.errors import InvalidArgument, NotFound
from worker_runtime.types.signature import signature_of

DIAMOND = ensemble_text(
    "diamond",
    ["IN"],
    ["OUT", "SIDE"],
    [
        step_text("head", {"x": "IN"}, {"y": "A", "z": "B"}),
        step_text("left", {"x": "A"}, {"y": "L"}),
        step_text("right", {"x": "B"}, {"y": "R", "z": "SIDE"}, version=3),
        step_text("tail", {"x": "L", "z": "R"}, {"y": "OUT"}),
    ],
)


def graph(text: str = DIAMOND) -> EnsembleGraph:
    return EnsembleGraph(parsed(text))


def value(number: int = 0) -> Tensor:
    return Tensor(("FP32", (2,), 0), bytes([number]) * 8)


def consumers(text: str, requested: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    return {name: steps for name, (_, steps) in graph(text).course(requested).routes.items()}


def test_a_course_knows_who_reads_what() -> None:
    found = graph()
    course = found.course(("OUT", "SIDE"))
    assert course.routes == {
        "IN": (1, (0,)),
        "A": (1, (1,)),
        "B": (1, (2,)),
        "L": (1, (3,)),
        "R": (1, (3,)),
        "OUT": (1, ()),
        "SIDE": (1, ()),
    }
    assert course.wanted == (1, 1, 1, 2)
    assert [step.version for step in found.steps] == ["", "", "3", ""]
    assert str(found.steps[2]) == "step 2 ('right')"


@pytest.mark.parametrize(
    ("requested", "idle"),
    [
        (("OUT", "SIDE"), set()),
        (("OUT",), set()),
        (("SIDE",), {"A", "L", "R"}),  # the left branch and the tail serve only OUT
    ],
)
def test_steps_that_only_unrequested_outputs_need_are_pruned(
    requested: tuple[str, ...], idle: set[str]
) -> None:
    found = graph()
    course = found.course(requested)
    assert {name for name in ("A", "B", "L", "R") if not course.routes[name][0]} == idle
    assert found.course(requested) is course


def test_an_unrequested_output_that_a_step_reads_keeps_its_step() -> None:
    text = ensemble_text(
        "chain",
        ["IN"],
        ["MID", "OUT"],
        [step_text("a", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
    )
    assert consumers(text, ("OUT",)) == {"IN": (0,), "MID": (1,), "OUT": ()}
    assert consumers(text, ("MID",)) == {"IN": (0,), "MID": (), "OUT": ()}
    assert graph(text).course(("MID", "OUT")).routes["MID"] == (2, (1,))


def put(flow: Flow, *values: tuple[str, Tensor]) -> tuple[list[Due], int | None]:
    """What an answer makes possible, taken off the flow."""
    for name, tensor in values:
        flow.put(name, tensor)
    found = sorted(flow.due), flow.answered
    flow.due.clear()
    flow.answered = None
    return found


def test_steps_get_ready_when_all_their_inputs_are_there() -> None:
    flow = Flow(graph().course(("OUT", "SIDE")))
    assert put(flow, ("IN", value())) == ([(0, 0)], None)
    flow.take(("IN",), 0)
    assert put(flow, ("A", value(1)), ("B", value(2))) == ([(1, 0), (2, 0)], None)
    assert put(flow, ("L", value(3))) == ([], None)
    assert put(flow, ("R", value(4)), ("SIDE", value(5))) == ([(3, 0)], None)
    assert put(flow, ("OUT", value(6))) == ([], 0)
    assert flow.take(("OUT", "SIDE"), 0) == [value(6), value(5)]


def test_iterations_stay_apart_and_tensors_are_forgotten_with_their_last_reader() -> None:
    flow = Flow(graph().course(("SIDE",)))
    assert put(flow, ("A", value())) == ([], None)  # nobody reads it when only SIDE is wanted
    with pytest.raises(KeyError):
        flow.take(("A",), 0)
    for number in range(3):
        assert put(flow, ("B", value(number))) == ([(2, number)], None)
    assert flow.take(("B",), 1) == [value(1)]
    with pytest.raises(KeyError):
        flow.take(("B",), 1)
    assert flow.take(("B",), 2) == [value(2)]


@pytest.mark.parametrize("iteration", [0, 1])
def test_a_tensor_with_several_readers_stays_until_the_last_has_taken_it(iteration: int) -> None:
    text = ensemble_text(
        "fork",
        ["IN"],
        ["MID", "OUT"],
        [
            step_text("a", {"x": "IN"}, {"y": "MID"}),
            step_text("b", {"x": "MID", "z": "MID"}, {"y": "L"}),
            step_text("c", {"x": "MID", "z": "L"}, {"y": "OUT"}),
        ],
    )
    flow = Flow(graph(text).course(("MID", "OUT")))
    for number in range(iteration + 1):
        due = put(flow, ("MID", value(number)))
    assert due == ([(1, iteration)], None)
    assert flow.take(("MID", "MID"), iteration) == [value(iteration)] * 2  # one reader
    for _ in range(iteration + 1):
        due = put(flow, ("L", value(8)))
    assert due == ([(2, iteration)], None)
    assert flow.take(("MID", "L"), iteration) == [value(iteration), value(8)]
    for _ in range(iteration + 1):
        due = put(flow, ("OUT", value(9)))
    assert due == ([], iteration)
    assert flow.take(("MID", "OUT"), iteration) == [value(iteration), value(9)]
    with pytest.raises(KeyError):
        flow.take(("MID",), iteration)


@pytest.mark.parametrize(
    ("dims", "shape", "batching", "rows", "expected"),
    [
        ((16,), (3, 16), True, 3, (3, 16)),  # both batch
        ((16,), (16,), False, 0, (16,)),  # neither does
        ((16,), (16,), True, 0, (1, 16)),  # one row for a batching model
        ((16,), (3, 16), True, 0, (3, 16)),  # already looks like a batch
        ((-1, 16), (3, 16), False, 3, (3, 16)),  # the batch axis is part of its dims
        ((16,), (1, 16), False, 1, (16,)),  # one row, and the model wants none
        ((16,), (3, 16), False, 3, (3, 16)),  # cannot be helped: the model's check will say so
    ],
)
def test_the_batch_axis_is_added_and_taken_off(
    dims: tuple[int, ...],
    shape: tuple[int, ...],
    batching: bool,
    rows: int,
    expected: tuple[int, ...],
) -> None:
    assert adapted(dims, shape, batching=batching, rows=rows) == expected


def test_a_limiter_hands_slots_on_in_order() -> None:
    limiter: StepLimiter[object] = StepLimiter(2)
    first, second, third, fourth, fifth = (object() for _ in range(5))
    taken = [limiter.acquire(item) for item in (first, second, third, fourth, fifth)]
    assert taken == [True, True, False, False, False]
    assert limiter.withdraw(fourth)
    assert not limiter.withdraw(fourth)
    assert [limiter.release() for _ in range(4)] == [third, fifth, None, None]
    assert limiter.acquire(first)


def test_a_step_says_which_sequence_follows() -> None:
    inherited = (7, True, False)
    assert sequence_parameters(None, inherited) == inherited
    assert sequence_parameters({"other": 1}, inherited) == inherited
    assert sequence_parameters({"sequence_id": 9}, inherited) == (9, False, False)
    assert sequence_parameters({"sequence_end": True}, inherited) == (7, False, True)
    assert sequence_parameters({"sequence_id": "s"}, inherited) == ("s", False, False)
    with pytest.raises(
        InvalidArgument,
        match="expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or",
    ):
        sequence_parameters({"sequence_id": True}, inherited)
    with pytest.raises(InvalidArgument, match="'sequence_start' to be TRITONSERVER_PARAMETER_BOOL"):
        sequence_parameters({"sequence_start": 1}, inherited)


def test_outputs_without_labels_take_those_of_their_step() -> None:
    text = ensemble_text(
        "two",
        ["IN"],
        ["L", "R"],
        [step_text("a", {"x": "IN"}, {"y": "L"}), step_text("a", {"x": "IN"}, {"y": "R"})],
    )
    config = parsed(text)
    model = FakeServed(model_text("a"))
    model.signature = signature_of(model.config, {"y": ("cat", "dog")})
    own = signature_of(config, {"R": ("one", "two")})
    found = labelled(own, config, lambda _name, _version: model)
    assert [spec.labels for spec in found.outputs] == [("cat", "dog"), ("one", "two")]

    def gone(name: str, version: str) -> FakeServed:
        raise NotFound(f"{name} {version}")

    assert labelled(own, config, gone) == own
