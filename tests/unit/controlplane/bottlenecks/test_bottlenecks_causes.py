"""Why a request takes as long as it does, from made facts: each cause alone, and beside another."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.bottlenecks.facts import Facts, ModelFacts, ModelSettings, NodeFacts, parts
from controlplane.bottlenecks.finding import Finding
from controlplane.bottlenecks.ranking import findings, summary

NODE = NodeFacts(name="n1", processors=8, cpu=0.3, own=1.0)
FULL = NodeFacts(name="n1", processors=8, cpu=1.0, own=7.0)
OTHERS = NodeFacts(name="n1", processors=8, cpu=1.0, own=1.0, others=(("ranking", 6.5),))


def model(**changes: Any) -> ModelFacts:
    """That takes 10 ms of its own."""
    base = ModelFacts(
        name="net", request_us=10_000.0, infer_us=9900.0, busy=0.3, instances=1.0, batch=1.0,
        settings=ModelSettings(),
    )  # fmt: skip
    return replace(base, **changes)


def facts(*models: ModelFacts, **changes: Any) -> Facts:
    """A hundred requests; what is not said takes no time."""
    known = models or (model(),)
    inside = sum(one.share * one.request_us for one in known if not one.step)
    base = Facts(
        deployment="blue", seconds=60.0, requests=100, timed=100, replicas=1, models=known,
        nodes=(NODE,), request_bytes=100.0, response_bytes=100.0,
        total_us=inside + 300.0 + changes.get("receive_us", 0.0) + changes.get("send_us", 0.0),
    )  # fmt: skip
    return replace(base, **changes)


def queue(us: float, *, busy: float = 0.95, **settings: Any) -> ModelFacts:
    """``model`` with so long a queue."""
    return model(
        request_us=10_000.0 + us, queue_us=us, busy=busy, settings=ModelSettings(**settings)
    )


STEPS = (
    model(name="chain", request_us=30_000.0, infer_us=29_000.0, instances=0.0, busy=None,
          settings=ModelSettings(ensemble=True)),
    model(name="resize", step=True, infer_us=2000.0),
    model(name="detect", step=True, infer_us=27_000.0),
)  # fmt: skip
QUICK = model(request_us=200.0, infer_us=100.0)
JSON = {"as_json": 1.0, "request_bytes": 400_000.0, "response_bytes": 400_000.0}


@pytest.mark.parametrize(
    ("known", "code", "where"),
    [
        (facts(), "model", "net"),
        (facts(queue(60_000)), "few_instances", "net"),
        (facts(queue(60_000, max_batch_size=8)), "no_batching", "net"),
        (facts(queue(60_000, max_batch_size=8, batches=True)), "few_instances", "net"),
        (facts(queue(60_000, max_batch_size=8, sequences=True)), "sequence_slots", "net"),
        (
            facts(queue(50_000, busy=0.1, max_batch_size=8, batches=True, delay_us=50_000.0)),
            "batch_delay",
            "net",
        ),
        (facts(queue(60_000), nodes=(FULL,), waited_us=6000.0), "cpu_full", "n1"),
        (facts(queue(60_000), nodes=(OTHERS,), waited_us=6000.0), "noisy_neighbour", "n1"),
        (facts(queue(60_000), nodes=(OTHERS,), waited_us=100.0), "few_instances", "net"),
        (
            facts(queue(60_000, on_gpu=True), nodes=(replace(NODE, gpu=0.99),)),
            "gpu_full",
            "net",
        ),
        (facts(*STEPS), "ensemble_step", "detect"),
        (facts(model(request_us=1000.0, infer_us=100.0), total_us=9000.0, **JSON), "json", ""),
        (
            facts(send_us=20_000.0, receive_us=20_000.0, request_bytes=16e6, response_bytes=16e6),
            "large_payload",
            "",
        ),
        (facts(receive_us=90_000.0, request_bytes=30_000.0), "slow_client", ""),
        (facts(QUICK, new_connections=0.9), "new_connections", ""),
        (facts(held=50, wake_s=0.6, total_us=310_000.0), "cold_start", ""),
        (
            facts(model(request_us=900.0, infer_us=100.0), late_us=20_000.0, total_us=40_000.0),
            "late_loop",
            "",
        ),
        (facts(model(request_us=900.0, infer_us=100.0), total_us=9000.0), "gateway", ""),
    ],
)  # fmt: skip
def test_the_likeliest_cause_comes_first(known: Facts, code: str, where: str) -> None:
    found = findings(known)
    assert (found[0].code, found[0].where) == (code, where), found
    assert found[0].text
    assert found[0].change
    assert all(one.us >= 0.1 * known.total_us for one in found)
    assert [one.us for one in found] == sorted((one.us for one in found), reverse=True)


def codes(known: Facts) -> set[str]:
    return {one.code for one in findings(known)}


@pytest.mark.parametrize(
    ("known", "code"),
    [
        (facts(as_json=1.0), "json"),
        (facts(receive_us=400.0, total_us=800.0), "slow_client"),
        (facts(queue(60_000, max_batch_size=1)), "no_batching"),
        (facts(queue(60_000, busy=0.2, max_batch_size=8)), "no_batching"),
        (facts(queue(60_000, busy=0.2)), "few_instances"),
        (facts(queue(60_000), nodes=(FULL,), waited_us=6000.0), "few_instances"),
        (facts(*STEPS[:2]), "ensemble_step"),
        (facts(*STEPS), "model"),
        (facts(nodes=(FULL,)), "cpu_full"),
        (facts(model(settings=None)), "batch_delay"),
    ],
)
def test_what_is_not_said(known: Facts, code: str) -> None:
    assert code not in codes(known)


def test_a_second_remedy_is_named_too_and_claims_less() -> None:
    batching, instances, *_ = findings(facts(queue(60_000, max_batch_size=8)))
    assert (batching.code, instances.code) == ("no_batching", "few_instances")
    assert instances.us == batching.us / 2


def test_of_little_traffic_nothing_is_said() -> None:
    few = facts(timed=9)
    assert findings(few) == ()
    assert summary(few, ()) == (
        "9 requests were answered in the last 60 s: at least 10 are needed to say why."
    )


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (facts(), "A request takes 10.3 ms on average, 96 % of it since the model itself takes the "
         "time."),
        (facts(model(request_us=200.0, infer_us=100.0), new_connections=1.0),
         "A request takes 500 µs on average, and on top of that clients open a connection for "
         "nearly every request."),
        (facts(model(request_us=500.0, infer_us=20.0), total_us=510.0),
         "A request takes 510 µs on average, and nothing stands out."),
    ],
)  # fmt: skip
def test_it_is_summed_up_in_a_sentence(known: Facts, text: str) -> None:
    assert summary(known, findings(known)) == text


def test_the_parts_are_the_way_of_a_request() -> None:
    known = facts(queue(5000.0), receive_us=700.0, send_us=80.0)
    assert {part.name: part.us for part in parts(known)} == {
        "client_sends": 700.0,
        "gateway": 300.0,
        "protocol": pytest.approx(100.0),
        "queue": 5000.0,
        "compute_input": 0.0,
        "compute_infer": 9900.0,
        "compute_output": 0.0,
        "client_takes": 80.0,
    }
    assert sum(part.us for part in parts(known)) == pytest.approx(known.total_us)


def test_an_ensemble_counts_by_itself_and_its_steps_explain_it() -> None:
    known = facts(*STEPS)
    assert known.runtime_us == 30_000.0
    assert sum(part.us for part in parts(known)) == pytest.approx(known.total_us)


def test_who_else_is_there_is_named() -> None:
    (found, *_) = findings(facts(queue(60_000), nodes=(OTHERS,), waited_us=6000.0))
    assert isinstance(found, Finding)
    assert "others more: ranking 6.5" in found.text
