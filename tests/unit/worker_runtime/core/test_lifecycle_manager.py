"""Load, unload and overrides against a real repository, without any front end."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import onnx_models as om
from tests.unit.worker_runtime.core.lifecycle_models import (
    ENSEMBLE,
    GROUP,
    IDENTITY,
    WRONG,
    Make,
    put,
    settled,
    states,
)
from worker_runtime.core.engine import Engine
from worker_runtime.core.loading import LoadingRules
from worker_runtime.core.manager import Manager
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.errors import Internal, InvalidArgument, LoadFailed, NotFound, Unavailable
from worker_runtime.types.instances import Machine
from worker_runtime.types.repository import LoadOverride


async def test_explicit_mode_knows_only_what_it_is_told(root: Path, make: Make) -> None:
    put(root, "a")
    put(root, "b")
    manager = make()
    assert await manager.start(())
    assert states(manager) == {"a": "", "b": ""}
    with pytest.raises(NotFound, match="Request for unknown model: 'a' is not found"):
        manager.resolve("a")
    await manager.load("a")
    assert states(manager) == {"a/1": "READY", "b": ""}
    model = manager.resolve("a")
    await manager.load("a")
    assert manager.resolve("a") is model, "nothing has changed"
    await manager.unload("a")
    await manager.unload("a")
    await manager.unload("nobody")
    assert await settled(manager) == {"a/1": "UNAVAILABLE unloaded", "b": ""}
    assert manager.all_ready
    with pytest.raises(NotFound, match="'a' has no available versions"):
        manager.resolve("a")
    with pytest.raises(Unavailable, match="'a' version 1 is not at ready state"):
        manager.resolve("a", "1")
    with pytest.raises(NotFound, match="'a' version 7 is not found"):
        manager.resolve("a", "7")


async def test_a_server_is_not_live_once_a_device_is_lost(root: Path, make: Make) -> None:
    """Who watches it restarts it: only another process can use the device again."""
    put(root, "a")
    manager = make()
    assert await manager.start(())
    await manager.load("a")
    engine = Engine(manager, "server")
    engine.started = True
    assert (engine.live, engine.ready, engine.model_ready("a")) == (True, True, True)
    manager.resolve("a").loaded.instances[0].device_lost = True
    assert (engine.live, engine.ready, engine.model_ready("a")) == (False, False, False)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("", InvalidArgument, "model name must not be empty"),
        (" \t", InvalidArgument, "model name must not contain only whitespace characters"),
        (
            "a/b",
            InvalidArgument,
            "invalid model name 'a/b', model name must not contain path traversal characters",
        ),
        (
            "..",
            InvalidArgument,
            "invalid model name '..', model name must not contain path traversal characters",
        ),
        ("nobody", Internal, "failed to load 'nobody', failed to poll from model repository"),
        ("typo", Internal, "failed to load 'typo', failed to poll from model repository"),
        (
            "empty",
            LoadFailed,
            "load failed for model 'empty': at least one version must be available under the "
            "version policy of model 'empty'\n",
        ),
        (
            "wrong",
            LoadFailed,
            "load failed for model 'wrong': version 1 is at UNAVAILABLE state: Invalid argument: "
            "expected output name to follow OUTPUT<index> pattern, got 'OUT';\n",
        ),
        (
            "strange",
            LoadFailed,
            "load failed for model 'strange': version 1 is at UNAVAILABLE state: Invalid argument: "
            "unable to find backend library for backend 'nosuch', try specifying runtime on the "
            "model configuration.;\n",
        ),
    ],
)
async def test_what_cannot_be_loaded(
    root: Path, make: Make, name: str, kind: type[Exception], text: str
) -> None:
    put(root, "typo", "no_such_field: 1")
    put(root, "empty", versions=())
    put(root, "wrong", WRONG)
    put(root, "strange", IDENTITY.replace("identity", "nosuch"))
    manager = make()
    await manager.start(())
    for _ in range(2):
        with pytest.raises(kind) as caught:
            await manager.load(name)
        assert str(caught.value) == text
    assert manager.all_ready is (name not in {"empty", "wrong", "strange"})
    shown = {row["name"]: row for row in manager.index(failures=True)}
    assert "no_such_field" in shown["typo"]["reason"] if name == "typo" else True


@pytest.mark.parametrize("explicit", [True, False])
async def test_the_api_needs_explicit_mode(root: Path, make: Make, explicit: bool) -> None:
    put(root, "a")
    manager = make(explicit=explicit)
    assert await manager.start(None)
    assert states(manager) == {"a/1": "READY"}
    if not explicit:
        for call in (manager.load, manager.unload):
            with pytest.raises(Unavailable) as caught:
                await call("a")
            assert str(caught.value) == (
                "explicit model load / unload is not allowed if polling is enabled"
            )


async def test_a_failed_reload_keeps_what_serves(root: Path, make: Make) -> None:
    path = put(root, "m")
    manager = make()
    await manager.start(["m"])
    model = manager.resolve("m")
    for config in ("no_such_field: 1", WRONG):
        put(root, "m", config)
        with pytest.raises((Internal, LoadFailed)):
            await manager.load("m")
        assert manager.resolve("m") is model
        assert states(manager) == {"m/1": "READY"}
    (path / "2").mkdir()
    put(root, "m", WRONG + "version_policy { all {} }")
    with pytest.raises(LoadFailed, match=r"version 1 is at UNAVAILABLE state: .*version 2 is at"):
        await manager.load("m")
    assert manager.resolve("m") is model
    assert states(manager)["m/2"].startswith("UNAVAILABLE Invalid argument: expected output")
    put(root, "m", IDENTITY + "version_policy { all {} }")
    await manager.load("m")
    assert await settled(manager) == {"m/1": "READY", "m/2": "READY"}
    assert manager.resolve("m").version == 2


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("", {3}),
        ("version_policy { latest { num_versions: 2 } }", {2, 3}),
        ("version_policy { all {} }", {1, 2, 3}),
        ("version_policy { specific { versions: [1, 3, 9] } }", {1, 3}),
    ],
)
async def test_versions_follow_the_policy(
    root: Path, make: Make, policy: str, versions: set[int]
) -> None:
    path = put(root, "m", IDENTITY, (1, 2, 3))
    for ignored in ("04", "x", "warmup"):
        (path / ignored).mkdir()
    manager = make()
    await manager.start(["m"])
    before = manager.resolve("m", "3")
    put(root, "m", IDENTITY + policy)
    await manager.load("m")
    await settled(manager)
    assert {model.version for model in manager.versions} == versions
    if 3 in versions:
        assert manager.resolve("m", "3") is before, "only the policy differs: it serves on"


def instance_ids(manager: Manager) -> list[int]:
    return [id(instance) for instance in manager.resolve("m").loaded.instances]


async def test_an_update_of_instances_keeps_those_that_match(root: Path, make: Make) -> None:
    path = put(root, "m", IDENTITY + GROUP % 3)
    manager = make()
    await manager.start(["m"])
    model, three = manager.resolve("m"), instance_ids(manager)
    put(root, "m", IDENTITY + GROUP % 4)
    await manager.load("m")
    four = instance_ids(manager)
    assert (manager.resolve("m"), four[:3], len(set(four))) == (model, three, 4)
    assert model.config.instance_group[0].count == 4
    put(root, "m", IDENTITY + GROUP % 1)
    await manager.load("m")
    assert (manager.resolve("m"), instance_ids(manager)) == (model, three[:1])
    put(root, "m", IDENTITY + "instance_group { kind: KIND_GPU }")
    with pytest.raises((LoadFailed, Internal)):
        await manager.load("m")
    assert (manager.resolve("m"), instance_ids(manager)) == (model, three[:1])
    put(root, "m", IDENTITY + "max_batch_size: 2\n" + GROUP % 1)
    await manager.load("m")
    assert manager.resolve("m") is not model, "more than instances is a load"
    model = manager.resolve("m")
    (path / "1" / "weights").write_text("new")
    put(root, "m", IDENTITY + "max_batch_size: 2\n" + GROUP % 2)
    await manager.load("m")
    assert manager.resolve("m") is not model, "the files are others"


@pytest.mark.parametrize(
    ("options", "batching"),
    [
        ("", ""),
        ("limited", ""),
        ("cached", ""),
        ("", "sequence_batching {}\n"),
        ("limited", "sequence_batching {}\n"),
    ],
)
async def test_a_change_of_instances_is_made_in_place(
    root: Path, make: Make, options: str, batching: str
) -> None:
    """Whoever else looks at requests; each instance keeps the place that it was loaded for."""
    limiter = RateLimiter() if options == "limited" else None
    cache = ResponseCache(1024 * 1024) if options == "cached" else None
    text = IDENTITY + "max_batch_size: 1\n" + batching
    text += "response_cache { enable: true }\n" if cache is not None else ""
    group = "instance_group { kind: KIND_CPU rate_limiter { priority: %d } }\n"
    put(root, "m", text + group % 1)
    manager = make(limiter=limiter, cache=cache)
    await manager.start(["m"])
    model, (first,) = manager.resolve("m"), instance_ids(manager)
    put(root, "m", text + group % 2 + group % 1)
    await manager.load("m")
    assert manager.resolve("m") is model
    assert instance_ids(manager)[1] == first
    put(root, "m", text + group % 1)
    await manager.load("m")
    assert (manager.resolve("m"), instance_ids(manager)) == (model, [first])


async def test_config_overrides_last_until_the_next_plain_load(root: Path, make: Make) -> None:
    put(root, "m")
    manager = make()
    await manager.start(["m"])
    data = {
        "backend": "identity",
        "max_batch_size": 7,
        "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
        "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
    }
    await manager.load("m", LoadOverride(json.dumps(data)))
    assert manager.resolve("m").config.max_batch_size == 7
    for bad in ("nonsense", "[]", "", '{"foo": 1}', '{"max_batch_size": "x"}', '{"name": "n"}'):
        with pytest.raises(Internal, match="failed to poll from model repository"):
            await manager.load("m", LoadOverride(bad))
        assert manager.resolve("m").config.max_batch_size == 7
    await manager.load("m")
    assert manager.resolve("m").config.max_batch_size == 0


async def test_files_replace_the_directory_until_the_next_plain_load(
    root: Path, make: Make
) -> None:
    put(root, "m", IDENTITY, (3,))
    manager = make()
    await manager.start(["m"])
    config = json.dumps(
        {
            "backend": "identity",
            "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
            "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [4]}],
        }
    )
    with pytest.raises(Internal, match="failed to load 'm', failed to poll from"):
        await manager.load("m", LoadOverride(None, {"1/model.onnx": b"x"}))
    with pytest.raises(Internal, match="failed to load 'm', failed to poll from"):
        await manager.load("m", LoadOverride(config, {"../x": b"x"}))
    assert manager.resolve("m").version == 3
    await manager.load("m", LoadOverride(config, {"1/model.onnx": b"x"}))
    await manager.load("elsewhere", LoadOverride(config, {"5/model.onnx": b"x"}))
    assert manager.resolve("elsewhere").version == 5
    assert await settled(manager) == {"m/1": "READY", "m/3": "UNAVAILABLE unloaded"}
    await manager.load("m")
    assert await settled(manager) == {"m/1": "UNAVAILABLE unloaded", "m/3": "READY"}
    with pytest.raises(Internal):
        await manager.load("elsewhere")
    assert manager.resolve("elsewhere").version == 5


async def test_a_model_in_two_repositories_is_served_by_neither(
    root: Path, tmp_path: Path, make: Make
) -> None:
    other = tmp_path / "other"
    put(root, "m")
    put(root, "alone")
    manager = make(other)
    with pytest.raises(Internal, match="failed to stat file"):
        await manager.start(None)
    put(other, "m", IDENTITY, (1, 2))
    assert not await manager.start(None)
    duplicate = "UNAVAILABLE model appears in two or more repositories"
    assert states(manager) == {"alone/1": "READY", "m": duplicate}
    with pytest.raises(Internal, match="failed to load 'm', failed to poll from"):
        await manager.load("m")
    shutil.rmtree(root / "m")
    await manager.load("m")
    put(root, "m")
    with pytest.raises(Internal, match="failed to load 'm', failed to poll from"):
        await manager.load("m")
    assert manager.resolve("m").version == 2, "what serves goes on"


async def test_loads_of_one_model_queue_and_others_do_not_wait(root: Path, make: Make) -> None:
    slow = IDENTITY + 'parameters { key: "creation_delay_sec" value { string_value: "1" } }\n'
    put(root, "slow", slow)
    put(root, "quick")
    manager = make()
    await manager.start(())
    first = asyncio.ensure_future(manager.load("slow"))
    while not states(manager).get("slow/1"):
        await asyncio.sleep(0.005)
    assert states(manager)["slow/1"] == "LOADING"
    assert not manager.all_ready
    put(root, "slow", IDENTITY + "max_batch_size: 3")
    second = asyncio.ensure_future(manager.load("slow"))
    unload = asyncio.ensure_future(manager.unload("slow"))
    await manager.load("quick")
    assert not first.done()
    first.cancel()  # the client went away: the load goes on
    await asyncio.gather(second, unload)
    assert states(manager)["quick/1"] == "READY"
    assert (await settled(manager))["slow/1"] == "UNAVAILABLE unloaded"


@pytest.mark.parametrize("name", ["..", ".", "../outside", "inside/1", ""])
async def test_names_from_elsewhere_do_not_leave_the_repository(
    root: Path, make: Make, name: str
) -> None:
    """The command line and the steps of ensembles name models too."""
    put(root.parent, "outside")
    put(root, "inside")
    put(root, "whole", ENSEMBLE % (name or "nobody"))
    manager = make()
    assert not await manager.start([name])
    with pytest.raises(LoadFailed, match="contains models that are not available or ambiguous"):
        await manager.load("whole")


async def test_a_failed_load_is_tried_again_at_once(
    root: Path, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from worker_runtime.core.lifecycle import serving

    tried: list[int] = []
    real = serving.load_version

    def flaky(*arguments: Any) -> Any:
        tried.append(1)
        if len(tried) < 3:
            raise OSError("not yet")
        return real(*arguments)

    monkeypatch.setattr(serving, "load_version", flaky)
    put(root, "m")
    manager = make(load_retries=2)
    assert await manager.start(["m"])
    assert len(tried) == 3
    failures = [text for text in caplog.messages if "not yet" in text]
    assert failures == ["failed to load 'm' version 1: Internal: not yet"] * 2


@pytest.mark.parametrize("text", ["s3://host:1/bucket/x", "gs://bucket", "as://account/x"])
async def test_remote_repositories_are_refused(make: Make, text: str) -> None:
    with pytest.raises(InvalidArgument, match=f"model repository '{text}' is a remote one"):
        await make(Path(text)).start(None)


AGENT = """
model_repository_agents { agents { name: "%s" parameters { key: "%s" value: "%s" } } }
"""
X_MD5 = "9dd4e461268c8034f5c8564e155c67a6"


@pytest.mark.parametrize(
    ("name", "key", "value", "reason"),
    [
        ("checksum", "MD5:1/x.bin", X_MD5, ""),
        ("checksum", "md5:1/x.bin", X_MD5, ""),
        (
            "checksum",
            "MD5:1/x.bin",
            "invalid",
            f"Mismatched MD5 hash for file 1/x.bin, expect: invalid, got: {X_MD5}",
        ),
        (
            "checksum",
            "MD5:1/y.bin",
            "0",
            "failed to open text file for read 1/y.bin: No such file or directory",
        ),
        ("checksum", "SHA1:1/x.bin", "0", "Unsupported checksum algorithm: SHA1"),
        ("checksum", "x", "0", "failed to parse key: x"),
        ("other", "x", "0", "unable to find 'libtritonrepoagent_other.so' for repo agent 'other'"),
    ],
)
async def test_files_are_held_against_their_checksums(
    root: Path, make: Make, name: str, key: str, value: str, reason: str
) -> None:
    path = put(root, "m", IDENTITY + AGENT % (name, key, value))
    (path / "1" / "x.bin").write_bytes(b"x")
    manager = make()
    assert await manager.start(["m"]) is not bool(reason)
    assert reason in manager.index(failures=True)[0].get("reason", "")


INCOMPLETE = 'backend: "%s"\ninput { name: "INPUT0" data_type: TYPE_FP32 }\n'


@pytest.mark.parametrize("backend", ["identity", "onnxruntime", "python"])
async def test_a_configuration_is_judged_before_versions_are_looked_for(
    root: Path, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(root, "m", INCOMPLETE % backend, versions=())
    manager = Manager((root,), LoadingRules(Machine(cores=2), auto_complete=False), explicit=True)
    assert not await manager.start(["m"])
    assert "Poll failed for model directory 'm': model input 'INPUT0' must specify 'dims'" in (
        caplog.text
    )
    assert "at least one version" not in caplog.text
    await manager.close(5)


async def test_a_refused_ensemble_says_why(root: Path, make: Make) -> None:
    put(root, "m")
    put(root, "e", ENSEMBLE % "m")
    manager = make()
    await manager.start(["e"])
    for wrong, reason in (
        (
            ENSEMBLE.replace('key: "INPUT0" value: "A"', 'key: "INPUT0" value: "C"') % "m",
            "ensemble input 'A' for ensemble e' is not used",
        ),
        (
            'platform: "ensemble"',
            "ensemble scheduling must be set for ensemble e whose platform is ensemble",
        ),
    ):
        put(root, "e", wrong)
        with pytest.raises(LoadFailed, match=f"load failed for model 'e': {reason}"):
            await manager.load("e")
    assert manager.resolve("e"), "what serves goes on"


@pytest.mark.parametrize(
    ("settings", "said", "size"),
    [
        ({}, "Adding default backend config setting: default-max-batch-size,4", 4),
        (
            {"": {"default-max-batch-size": "8"}},
            "Found overwritten default setting: default-max-batch-size,8",
            8,
        ),
        (
            {
                "": {"default-max-batch-size": "8"},
                "onnxruntime": {"default-max-batch-size": "2"},
                "python": {"default-max-batch-size": "1"},
            },
            "Found overwritten default setting: default-max-batch-size,2",
            2,
        ),
    ],
)
async def test_settings_of_a_backend_act_and_are_logged(
    root: Path,
    settings: dict[str, dict[str, str]],
    said: str,
    size: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    om.save(root, "m", om.identity(om.FP32, "N", 3))
    caplog.set_level("DEBUG", logger="worker_runtime")
    rules = LoadingRules(Machine(cores=2), backend_settings=settings)
    manager = Manager((root,), rules, explicit=True)
    assert await manager.start(["m"])
    assert manager.resolve("m").config.max_batch_size == size
    assert said in caplog.messages
    await manager.close(5)


def test_settings_for_all_backends_reach_each() -> None:
    settings = {"": {"a": "1", "b": "2"}, "python": {"b": "3"}}
    rules = LoadingRules(Machine(cores=2), backend_settings=settings)
    assert rules.settings("python") == {"a": "1", "b": "3"}
    assert rules.settings("onnxruntime") == {"a": "1", "b": "2"}
