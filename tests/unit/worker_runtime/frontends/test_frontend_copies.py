"""Models that run in front ends: which ones, with what requests, and who counts."""

import asyncio
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from tests.support import onnx_models as om
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from tests.unit.worker_runtime.frontends.test_frontend_mirror import Model, Served, Viewer
from worker_runtime.backends.attempt import Attempt
from worker_runtime.core.loading import LoadingRules, ModelPlan, load_version, read_plan
from worker_runtime.core.model import wants_front_ends
from worker_runtime.core.statistics import BatchCount, FailureReason, Statistics
from worker_runtime.errors import ConfigInvalid
from worker_runtime.frontends.copies import Copies
from worker_runtime.frontends.copying import Copying, model_needs, server_needs
from worker_runtime.frontends.counts import SUMS, add, taken
from worker_runtime.frontends.messages import (
    BLOCKS,
    BUNDLES,
    Block,
    Bundle,
    Copied,
    CopyForm,
    CopyRules,
    ModelForm,
    SpecForm,
    State,
    encoded,
)
from worker_runtime.frontends.mirror import Mirror
from worker_runtime.frontends.remote import RemoteModel
from worker_runtime.observability.logging import LogOptions
from worker_runtime.observability.metrics.latency import PHASES, MetricsConfig, Summaries
from worker_runtime.repository.fingerprint import Fingerprint, fingerprint
from worker_runtime.repository.layout import ModelDirectory, read_model
from worker_runtime.types.instances import Machine
from worker_runtime.types.request import InferRequest
from worker_runtime.types.triton_messages import model_config_pb2

HERE = 'parameters { key: "shoal_run_in_frontends" value { string_value: "true" } }\n'
WHOLE = f'backend: "onnxruntime" max_batch_size: 4 instance_group {{ kind: KIND_CPU }} {HERE}'
TIMES = (1_000, 2_000, 30_000, 40_000)


def config(text: str) -> Any:
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def settings(**given: Any) -> Any:
    return SimpleNamespace(**{"rate_limit": False, "capture": None, **given})


# --- which ones ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WHOLE, ""),
        (WHOLE + "dynamic_batching { priority_levels: 2 }", ""),
        ("ensemble_scheduling { }", "it is an ensemble"),
        ('backend: "python"', "its backend is 'python', expected 'onnxruntime'"),
        (WHOLE + "instance_group { kind: KIND_GPU }", "instances that are not of KIND_CPU"),
        (WHOLE + "sequence_batching { }", "sequence_batching"),
        (WHOLE + "model_transaction_policy { decoupled: true }", "decoupled"),
        (WHOLE + "dynamic_batching { preserve_ordering: true }", "preserve_ordering"),
    ],
)
def test_what_only_one_process_can_have_stays_in_the_core(text: str, reason: str) -> None:
    found = model_needs(config(text), cached=False)
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_cache_and_what_the_whole_server_shares_stay_in_the_core() -> None:
    assert "response cache" in model_needs(config(WHOLE), cached=True)
    assert server_needs(settings()) == ""
    assert "--rate-limit" in server_needs(settings(rate_limit=True))
    assert "--capture-config" in server_needs(settings(capture=object()))


def test_a_model_says_so_itself_and_in_no_other_words() -> None:
    assert wants_front_ends(config(HERE).parameters)
    assert not wants_front_ends(config(HERE.replace('"true"', '"false"')).parameters)
    assert not wants_front_ends(config("").parameters)
    with pytest.raises(ConfigInvalid, match="frontends' is 'yes', expected true or false"):
        wants_front_ends(config(HERE.replace('"true"', '"yes"')).parameters)


def test_a_model_that_cannot_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    model: Any = SimpleNamespace(name="m", version=1, config=config(WHOLE), cached=True)
    copying = Copying(SimpleNamespace(records={}), settings())  # type: ignore[arg-type]
    for _ in range(2):
        assert copying.forms({3: model}) == ()
    assert [record.getMessage() for record in caplog.records] == [
        "model 'm' version 1 runs in the core alone, although its parameter "
        "'shoal_run_in_frontends' is true: it has a response cache"
    ]


def test_a_form_is_made_anew_when_the_instances_change() -> None:
    model: Any = SimpleNamespace(name="m", version=1, config=config(WHOLE), cached=False)
    other: Any = SimpleNamespace(name="o", version=1, config=config(""), cached=False)
    directory = ModelDirectory("m", Path("/m"), (1,), None)
    plan = ModelPlan(directory, model.config, {}, False, seen=Fingerprint({"1/a": (1, 2)}))
    held = SimpleNamespace(model=model, plan=plan)
    manager: Any = SimpleNamespace(records={"m": SimpleNamespace(versions={1: held})})
    copying = Copying(manager, settings())
    [first] = copying.forms({3: model, 4: other})
    assert (first.number, first.path, first.files) == (3, "/m", {"1/a": (1, 2)})
    assert copying.forms({3: model, 4: other})[0] is first
    model.config.instance_group[0].count = 2
    [second] = copying.forms({3: model})
    assert second.config == model.config.SerializeToString() != first.config
    model.config.instance_group[0].kind = 1
    assert copying.forms({3: model}) == ()
    assert copying.forms({}) == ()


def test_what_is_to_run_is_told_once_and_to_nobody_who_is_spared() -> None:
    served: Any = Served()
    forms = {"here": _form(2, 1)}

    def copied(models: Any) -> tuple[CopyForm, ...]:
        return tuple(forms[model.name] for model in models.values() if model.name in forms)

    mirror = Mirror(served, served, copied)
    viewer, spared = Viewer(), Viewer()
    spared.spared = (forms["here"],)
    for one in (viewer, spared):
        mirror.join(one)
    served.serve(Model("there"))
    assert (mirror.copies, viewer.states[-1].runs) == ((), [])
    served.serve(Model("here"))
    assert (viewer.states[-1].copies, viewer.states[-1].runs) == ([forms["here"]], [2])
    assert (spared.states[-1].copies, spared.states[-1].runs) == ([], [])
    served.serve(Model("another"))
    assert (viewer.states[-1].copies, viewer.states[-1].runs) == ([], [2])
    told = len(viewer.states)
    mirror.publish()
    assert len(viewer.states) == told
    forms["here"] = _form(2, 5)
    mirror.publish()
    assert [form.version for form in viewer.states[-1].copies] == [5]
    assert [form.version for form in spared.states[-1].copies] == [5]
    assert viewer.states[-1].runs == spared.states[-1].runs == [2]
    served.unload("here")
    assert (mirror.copies, viewer.states[-1].runs) == ((), [])


def _form(number: int, version: int) -> CopyForm:
    return CopyForm(number, "here", version, b"", "/m", None, {})


# --- who counts ----------------------------------------------------------------------------------


def worked(*, failures: int = 0) -> Statistics:
    found = Statistics()
    found.summaries = Summaries()
    found.executed_alone(1, 500, 700, TIMES, 9)
    each: Any = [SimpleNamespace(arrived_ns=500, queued_ns=700)] * 2
    found.executed(
        requests=2,
        rows=3,
        arrived_sum=1000,
        queued_sum=1400,
        times=TIMES,
        now_ms=11,
        each=each,
    )
    for _ in range(failures):
        found.failed(FailureReason.BACKEND, 100)
    found.gpu_out_of_memory_count = found.error_answer_count = 1
    return found


def shown(statistics: Statistics) -> Any:
    summaries = statistics.summaries
    assert summaries is not None
    rows = statistics.batches.items()
    return (
        [getattr(statistics, name) for name in SUMS],
        statistics.failures,
        {size: (row.count, row.input_ns, row.infer_ns, row.output_ns) for size, row in rows},
        [getattr(statistics.latencies, phase) for phase in PHASES],
        [(seen.count, seen.total, seen.value(0.5)) for seen in summaries.phases.values()],
    )


def test_what_is_taken_counts_once_in_the_core() -> None:
    core, here = worked(failures=1), worked()
    twice = worked(failures=1)
    twice.executed_alone(1, 500, 700, TIMES, 9)
    counts = taken(7, here)
    assert counts is not None
    assert taken(7, here) is None
    sent = Bundle([], [], {}, [], [], [Copied({7: 0}, [counts])])
    [copied] = BUNDLES.decode(encoded(sent)).said
    assert isinstance(copied, Copied)
    add(core, copied.counts[0])
    both = worked(failures=1)
    both_too = worked()
    added = taken(7, both_too)
    assert added is not None
    add(both, added)
    assert shown(core) == shown(both)
    assert core.success_count == 6
    assert core.batches[3].count == 2
    assert sum(core.latencies.request) == 6
    assert core.last_inference_ms == 11
    assert core.failures[FailureReason.BACKEND] == 1
    fresh = Statistics()
    fresh.summaries = Summaries()
    here.last_inference_ms = 0
    assert [row[:2] for row in shown(here)[4]] == [row[:2] for row in shown(fresh)[4]]
    assert shown(here)[:4] == shown(fresh)[:4]


def test_every_counter_is_handed_over_or_cannot_be_there() -> None:
    handed = {*SUMS, "failures", "batches", "latencies", "summaries", "last_inference_ms"}
    others = {
        *("cache_hit_count", "cache_hit_ns", "cache_miss_count", "cache_miss_ns"),  # no cache
        *("calls", "responses", "first_response"),  # of Python and decoupled models
        *("load_duration_s", "memory", "elsewhere"),  # no counters
    }
    assert set(Statistics.__slots__) == handed | others
    assert not handed & others
    assert set(BatchCount.__slots__) == {"count", "input_ns", "infer_ns", "output_ns"}


# --- a front end's own ones ----------------------------------------------------------------------


class FrontEnd:
    """Its copies over a repository with one model, and what it says to the core."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: list[Copied] = []
        rules = CopyRules(1, {}, None, 0, 60.0, MetricsConfig())
        self.copies = Copies(rules, self.said.append)
        directory = read_model(om.save(root, "m", om.add_sub(), f"name: 'm' {WHOLE}"))
        plan = read_plan(directory, LoadingRules(Machine(1)))
        seen = fingerprint(directory.path, directory.config_path)
        blueprint = load_version(plan, 1, LoadingRules(Machine(1)), Attempt())
        blueprint.loaded.close()
        whole = blueprint.config.SerializeToString()
        specs = [
            tuple(
                SpecForm(s.name, s.datatype.name, s.dims, None, False, (), False, False)
                for s in side
            )
            for side in (blueprint.signature.inputs, blueprint.signature.outputs)
        ]
        self.model = RemoteModel(ModelForm(1, "m", 1, whole, "m", 4, specs[0], specs[1], False))
        assert directory.config_path is not None
        self.form = CopyForm(
            *(1, "m", 1, whole, str(directory.path), str(directory.config_path)),
            dict(seen.entries),
        )

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.005)

    async def serve(self) -> None:
        self.copies.follow(_state(self.form), {1: self.model})
        await self.until(lambda: self.model.copy is not None)

    def ask(self) -> RecordingSink:
        forms = tuple((name, "INT32", (1, 16)) for name in ("INPUT0", "INPUT1"))
        plan = self.model.planner.plan(forms, None)
        sink = RecordingSink()
        ones = np.ones(16, dtype="<i4").tobytes()
        self.model.copy.scheduler.submit(InferRequest(plan, [ones, ones], sink, arrived_ns=1))
        return sink


@pytest.fixture
async def front_end(tmp_path: Path) -> Any:
    found = FrontEnd(tmp_path)
    yield found
    await found.copies.close(5.0)


async def test_it_runs_what_the_core_says_and_reports_it(front_end: FrontEnd) -> None:
    await front_end.serve()
    assert front_end.said[-1] == Copied({1: 0}, [], loading=False)
    copy = front_end.model.copy
    front_end.copies.follow(_state(runs=(1,)), {1: front_end.model})
    assert front_end.model.copy is copy, "nothing has changed"
    front_end.ask()
    await front_end.until(lambda: copy.statistics.ends())
    front_end.copies.tell()
    [counts] = front_end.said[-1].counts
    assert (counts.number, counts.sums[SUMS.index("success_count")]) == (1, 1)
    front_end.copies.tell()
    assert not front_end.said[-1].counts


async def test_it_reports_by_itself(front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker_runtime.frontends.copies._TELL_S", 0.01)
    await front_end.serve()
    front_end.ask()
    await front_end.until(lambda: any(one.counts for one in front_end.said))
    told = len(front_end.said)
    for _ in range(3):
        timer = front_end.copies._timer
        await front_end.until(lambda timer=timer: front_end.copies._timer is not timer)
    assert len(front_end.said) == told, "nothing is new"


async def test_what_runs_ends_where_it_is_before_a_copy_goes(front_end: FrontEnd) -> None:
    await front_end.serve()
    sink = front_end.ask()
    front_end.copies.follow(_state(), {})
    assert front_end.model.copy is None
    await front_end.until(lambda: front_end.said[-1].waiting == {})
    assert (len(sink.delivered), sink.failed) == (1, [])
    assert [one.sums[0] for said in front_end.said for one in said.counts] == [1]


async def test_what_is_not_wanted_any_more_does_not_come(front_end: FrontEnd) -> None:
    front_end.copies.follow(_state(front_end.form), {1: front_end.model})
    await asyncio.sleep(0)  # it begins to load
    front_end.copies.follow(_state(), {})
    await front_end.until(lambda: front_end.said and front_end.said[-1].waiting == {})
    assert front_end.model.copy is None


@pytest.mark.parametrize("when", ["before", "gone"])
async def test_files_that_have_changed_are_not_loaded(
    front_end: FrontEnd, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    file = front_end.root / "m" / "1" / "model.onnx"
    if when == "before":
        os.utime(file, ns=(1, 1))
    else:
        file.unlink()
    front_end.copies.follow(_state(front_end.form), {1: front_end.model})
    await front_end.until(lambda: front_end.said)
    assert front_end.said == [Copied({}, [], loading=False)]
    assert front_end.model.copy is None
    [record] = [one for one in caplog.records if "cannot run in this front end" in one.message]
    assert "have changed since the core loaded them" in record.message
    front_end.copies.follow(_state(runs=(1,)), {1: front_end.model})
    await asyncio.sleep(0)
    assert len(front_end.said) == 1, "it is not tried again"


def _state(*fresh: CopyForm, runs: tuple[int, ...] = ()) -> State:
    """As it comes to a front end."""
    wanted = [form.number for form in fresh] + list(runs)
    state = State(1, [], [], [], {}, [], False, False, LogOptions(), list(fresh), wanted)
    [said] = BLOCKS.decode(encoded(Block([state], [], [], []))).said
    assert isinstance(said, State)
    return said


async def test_the_end_does_not_wait_for_a_load(
    front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, goes_on = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> Any:
        loads.set()
        assert goes_on.wait(20)
        return load_version(*arguments)

    monkeypatch.setattr("worker_runtime.frontends.copies.load_version", slow)
    front_end.copies.follow(_state(front_end.form), {1: front_end.model})
    await front_end.until(loads.is_set)
    await asyncio.wait_for(front_end.copies.close(60.0), 20)
    assert front_end.copies.still_loads
    goes_on.set()
    await front_end.until(lambda: not front_end.copies.still_loads)
    await front_end.until(lambda: front_end.said[-1].waiting == {})
    assert front_end.model.copy is None
