"""What a load has to do, and which models hang together: tables."""

from typing import Any

import pytest

from worker_runtime.core.lifecycle.changes import Change, Match, match, plan_change
from worker_runtime.core.lifecycle.dependencies import downstream, next_round, with_orphans
from worker_runtime.core.lifecycle.records import status_text
from worker_runtime.core.loading import LoadingRules, check_gpu_memory
from worker_runtime.errors import (
    ConfigInvalid,
    Internal,
    LoadFailed,
    NotFound,
    QueueFull,
    Unavailable,
)
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.instances import Machine, places_of

PLAIN = 'name: "m" max_batch_size: 4'
ONE = PLAIN + " instance_group { count: 1 kind: KIND_CPU }"
TWO = PLAIN + " instance_group { count: 2 kind: KIND_CPU } version_policy { all {} }"
BATCHING = ONE + " dynamic_batching {}"
ENSEMBLE = 'name: "e" ensemble_scheduling { step { model_name: "m" } }'


@pytest.mark.parametrize(
    ("serving", "wanted", "config", "touched", "change"),
    [
        ({}, [1, 3], ONE, [], Change((1, 3), (), ())),
        ({1: ONE}, [1], ONE, [], Change((), (1,), ())),
        ({1: ONE}, [1], TWO, [], Change((), (1,), ())),
        ({1: ONE}, [1], BATCHING, [], Change((1,), (), ())),
        ({1: ONE}, [1], TWO, [1], Change((1,), (), ())),
        ({1: ONE, 2: ONE}, [2, 3], ONE, [], Change((3,), (2,), (1,))),
        ({1: ONE, 2: ONE, 3: ONE}, [3], ONE, [3], Change((3,), (), (1, 2))),
        ({1: ENSEMBLE}, [1], ENSEMBLE, [], Change((1,), (), ())),
        ({1: ONE}, [], ONE, [], Change((), (), (1,))),
    ],
)
def test_what_to_load_keep_and_drop(
    serving: dict[int, str], wanted: list[int], config: str, touched: list[int], change: Change
) -> None:
    configs = {version: parse(text) for version, text in serving.items()}
    assert plan_change(configs, wanted, parse(config), lambda v: v in touched) == change


def ensemble(name: str, *parts: str) -> str:
    steps = "".join(f'step {{ model_name: "{part}" }}' for part in parts)
    return f'name: "{name}" ensemble_scheduling {{ {steps} }}'


CONFIGS = {
    "a": parse(PLAIN),
    "b": parse(PLAIN),
    "ab": parse(ensemble("ab", "a", "b")),
    "top": parse(ensemble("top", "ab", "a", "missing")),
    "ring": parse(ensemble("ring", "ring2")),
    "ring2": parse(ensemble("ring2", "ring")),
}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a"], {"ab", "top"}),
        (["b"], {"ab", "top"}),
        (["missing"], {"top"}),
        (["top"], set()),
        (["ring"], {"ring", "ring2"}),
    ],
)
def test_everything_downstream(names: list[str], found: set[str]) -> None:
    assert downstream(names, CONFIGS) == found


@pytest.mark.parametrize(
    ("name", "explicit", "gone"),
    [
        ("top", {"top"}, ["top", "ab", "a", "b"]),
        ("top", {"top", "a"}, ["top", "ab", "b"]),
        ("top", {"top", "ab"}, ["top"]),
        ("ab", {"top"}, ["ab", "b"]),
        ("a", {"a"}, ["a"]),
        ("unknown", set(), []),
    ],
)
def test_parts_that_nobody_needs_go_too(name: str, explicit: set[str], gone: list[str]) -> None:
    assert with_orphans(name, CONFIGS, explicit) == gone


@pytest.mark.parametrize(
    ("pending", "ready"),
    [
        ({"a", "b", "ab", "top"}, {"a", "b"}),
        ({"ab", "top"}, {"ab"}),
        ({"top"}, {"top"}),
        ({"ring", "ring2"}, {"ring", "ring2"}),
    ],
)
def test_parts_come_first(pending: set[str], ready: set[str]) -> None:
    assert next_round(pending, CONFIGS) == ready


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigInvalid("bad"), "Invalid argument: bad"),
        (LoadFailed("no such backend"), "Invalid argument: no such backend"),
        (LoadFailed("boom", kind="Internal"), "Internal: boom"),
        (NotFound("no file"), "Not found: no file"),
        (QueueFull("full"), "Unavailable: full"),
        (Internal("boom"), "Internal: boom"),
        (ValueError(), "Internal: ValueError"),
    ],
)
def test_reasons_begin_with_their_kind(error: Exception, text: str) -> None:
    assert status_text(error) == text


def grouped(*groups: tuple[str, int, str]) -> Any:
    """``(name, count, rest)`` of every instance group."""
    return parse(
        "".join(
            f'instance_group {{ name: "{name}" count: {count} {rest} }}'
            for name, count, rest in groups
        )
    )


CPU, GPU = "kind: KIND_CPU", "kind: KIND_GPU gpus: [0, 1]"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([("a", 2, CPU)], [("a", 2, CPU)], (0, 1)),
        ([("a", 1, CPU)], [("b", 3, CPU)], (0, None, None)),
        ([("a", 3, CPU)], [("a", 1, CPU)], (0,)),
        ([("a", 1, CPU), ("b", 1, GPU)], [("b", 1, GPU), ("c", 2, CPU)], (1, 2, 0, None)),
        ([("a", 1, CPU)], [("a", 1, CPU + ' profile: "1"')], (None,)),
    ],
)
def test_instances_that_match_stay(
    old: list[tuple[str, int, str]], new: list[tuple[str, int, str]], found: tuple[int | None, ...]
) -> None:
    assert match(grouped(*old), grouped(*new)) == Match(found)


@pytest.mark.parametrize(
    ("kind", "limits", "refused"),
    [
        (CPU, {0: 0.1}, False),
        (GPU, {}, False),
        (GPU, {0: 0.5, 1: 0.5}, False),
        (GPU, {0: 0.5, 1: 0.4}, True),
    ],
)
def test_a_gpu_with_too_much_in_use_takes_no_model(
    kind: str, limits: dict[int, float], refused: bool
) -> None:
    rules = LoadingRules(
        Machine(cores=1, gpus=2),
        gpu_limits=limits,
        gpu_memory=lambda device: (40 + device * 5, 100),
    )
    config = grouped(("a", 1, kind))
    if not refused:
        check_gpu_memory(config, rules)
        return
    with pytest.raises(Unavailable) as caught:
        check_gpu_memory(config, rules)
    assert str(caught.value) == (
        f"can not create model '{places_of(config)[-1].name}': memory limit set for GPU 1 has "
        "exceeded, model loading is rejected."
    )
