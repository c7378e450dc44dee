"""Checked request headers: what the JSON part of a request says, settled once.

Forms whose tensors are all binary or in shared memory are kept by the text of their header, so
that a client that repeats itself is only measured, not read.
"""

from typing import Any

import msgspec

from worker_runtime.core.parameters import NOTHING, from_json
from worker_runtime.core.plans import size_mismatch
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.forms import Form, OutputForm, Region
from worker_runtime.protocols.http.json_values import (
    BadJson,
    as_bool,
    as_string,
    as_uint,
    explained,
)
from worker_runtime.protocols.http.schema import (
    InputJson,
    OutputJson,
    RequestJson,
    Values,
    check_source,
)
from worker_runtime.protocols.http.tensors import refuse_binary_only
from worker_runtime.types.request import Plan
from worker_runtime.types.tensor import BY_NAME, element_count

JSON = (-1, -1)  # the slice of an input whose values are in the JSON part
REGION = (-2, -2)  # of one that lies in shared memory
_INT64_MAX = 2**63 - 1
_SIZE_MAX = 2**64 - 1


class HttpForm(Form):
    """``slices`` are ranges of the binary part, in configuration order; ``size`` is its length.

    ``sliced``: the request is its plan and these slices, nothing more. ``special`` inputs take more
    than slicing. ``ends`` are names and ends of binary inputs in the order of the request.
    ``regions`` belong to inputs by their index. ``outputs`` has every output of the plan.
    """

    slices: tuple[tuple[int, int], ...] = ()
    size: int = 0
    sliced: bool = False
    special: bool = False
    id: str = ""
    ends: tuple[tuple[str, int], ...] = ()
    regions: dict[int, Region] = {}

    @property
    def reusable(self) -> bool:
        return JSON not in self.slices

    @property
    def writes_regions(self) -> bool:
        return any(output.region is not None for output in self.outputs.values())


def build(
    engine: Engine, model: Model, request: RequestJson, tail: int, limit: int
) -> tuple[HttpForm, dict[str, Values]]:
    """The form, and the JSON values by input. ``tail`` bytes follow the JSON part.

    Raises InvalidArgument: first what the protocol can tell, then what the model does not take.
    """
    parameters = NOTHING
    if request.parameters is not msgspec.UNSET:
        parameters = from_json(request.parameters)
    sources: dict[str, tuple[int, int] | Region] = {}
    values: dict[str, Values] = {}
    ends: list[tuple[str, int]] = []
    size = 0
    for item in request.inputs:
        source = _source(item, limit)
        if isinstance(source, Region):
            engine.shared_memory.check(source.name, source.offset, source.byte_size)
        if isinstance(source, int):
            sources[item.name] = (size, size + source)
            size += source
            ends.append((item.name, size))
        else:
            if source is None:
                values[item.name] = item.values or bytes(item.data)
            sources[item.name] = JSON if source is None else source
    check_tail(model.name, tuple(ends), size, tail)
    listed = _listed(request)
    plan = engine.plan(
        model,
        request.id,
        tuple((i.name, i.datatype, tuple(i.shape)) for i in request.inputs),
        tuple(listed) or None,
    )
    slices, regions = _in_order(plan, sources, model, request.id)
    form = HttpForm(
        plan=plan,
        outputs=_outputs(request, plan, listed),
        parameters=parameters,
        slices=slices,
        size=size,
        special=bool(regions) or any(item.byte_size < 0 for item in plan.inputs),
        id=request.id,
        ends=tuple(ends),
        regions=regions,
    )
    # why no heads with regions: whoever writes any answer lets go of shared memory, too.
    if form.writes_regions:
        form.special = True
    elif not regions and all(
        output.binary and not output.classes for output in form.outputs.values()
    ):
        form.heads = {}
    form.sliced = not form.special and parameters == NOTHING
    return form, values


def check_tail(model: str, ends: tuple[tuple[str, int], ...], size: int, tail: int) -> None:
    """Raises InvalidArgument unless exactly the binary inputs follow the JSON part."""
    if tail == size:
        return
    if tail > size:
        raise InvalidArgument(f"unexpected additional input data for model '{model}'")
    name, end = next((name, end) for name, end in ends if end > tail)
    raise InvalidArgument(
        f"unexpected size for input '{name}', expecting {end - tail} additional bytes for model "
        f"'{model}'"
    )


def _source(item: InputJson, limit: int) -> int | Region | None:
    """The size of a binary input, the region of one in shared memory, None for JSON."""
    parameters = item.parameters or {}
    check_source(has_data=item.has_data, parameters=parameters)
    if "binary_data_size" in parameters:
        size: int = _parsed("Unable to parse", "binary_data_size", as_uint, parameters)
        return size
    if "shared_memory_region" in parameters:
        return _region(parameters)
    _check_size(item, limit)
    return None


def _region(parameters: dict[str, Any]) -> Region:
    name = _parsed("Unable to parse", "shared_memory_region", as_string, parameters)
    sizes = [
        _parsed("Unable to parse", key, as_uint, parameters) if key in parameters else 0
        for key in ("shared_memory_offset", "shared_memory_byte_size")
    ]
    return Region(name, *sizes)


def _check_size(item: InputJson, limit: int) -> None:
    """JSON makes tensors of any size out of few bytes: what their shape says is bounded."""
    count = element_count(tuple(item.shape))
    if count > _INT64_MAX:
        raise InvalidArgument(
            f"input '{item.name}' has a shape that causes total element count to exceed maximum "
            f"size of {_INT64_MAX}"
        )
    datatype = BY_NAME.get(item.datatype)
    if datatype is None:
        raise InvalidArgument(f"invalid datatype for input {item.name}")
    if count:
        refuse_binary_only(datatype, item.name)
    size = count * datatype.item_size
    if size > _SIZE_MAX:
        raise InvalidArgument(f"byte size overflow for input '{item.name}'")
    if size > limit:
        raise InvalidArgument(
            f"Input '{item.name}' has a byte_size ({size} bytes) that exceeds the maximum allowed "
            f"value of {limit} bytes. Use --http-max-input-size to increase the limit."
        )


def _parsed(what: str, key: str, reader: Any, parameters: dict[str, Any]) -> Any:
    try:
        return reader(parameters[key])
    except BadJson as error:
        raise explained(f"{what} '{key}'", error) from None


def _listed(request: RequestJson) -> dict[str, OutputForm]:
    """The outputs that the request lists, by name. Raises InvalidArgument."""
    listed: dict[str, OutputForm] = {}
    for output in [] if request.outputs is msgspec.UNSET else request.outputs:
        if output.name in listed:
            raise InvalidArgument(
                f"Duplicate output name '{output.name}' is not allowed in a request"
            )
        listed[output.name] = _output(output)
    return listed


def _output(output: OutputJson) -> OutputForm:
    parameters = output.parameters or {}
    if "shared_memory_region" in parameters:
        for key in ("classification", "binary_data"):
            if key in parameters and (
                key == "classification" or _parsed("Unable to set", key, as_bool, parameters)
            ):
                raise InvalidArgument(f"Output can't set both 'shared_memory_region' and '{key}'")
        return OutputForm(binary=False, region=_region(parameters))
    classes, binary = 0, False
    if "classification" in parameters:
        classes = _parsed("Unable to set", "classification", as_uint, parameters)
    if "binary_data" in parameters:
        binary = _parsed("Unable to parse", "binary_data", as_bool, parameters)
    return OutputForm(binary, classes)


def _outputs(
    request: RequestJson, plan: Plan, listed: dict[str, OutputForm]
) -> dict[str, OutputForm]:
    """How to write each output of the plan: listed ones say it, others follow the request."""
    if listed:
        return {name: listed[name] for name in plan.outputs}
    parameters = {} if request.parameters is msgspec.UNSET else request.parameters
    unlisted = OutputForm(parameters.get("binary_data_output") is True)
    return dict.fromkeys(plan.outputs, unlisted)


def _in_order(
    plan: Plan,
    sources: dict[str, tuple[int, int] | Region],
    model: Model,
    request_id: str,
) -> tuple[tuple[tuple[int, int], ...], dict[int, Region]]:
    """Slices and regions in configuration order, their sizes compared with the shapes."""
    slices: list[tuple[int, int]] = []
    regions: dict[int, Region] = {}
    for index, item in enumerate(plan.inputs):
        source = sources[item.name]
        if isinstance(source, Region):
            regions[index] = source
            size = source.byte_size
            slices.append(REGION)
        else:
            size = source[1] - source[0]
            slices.append(source)
        if source is not JSON and item.byte_size not in (-1, size):
            raise size_mismatch(item.name, model.name, item.byte_size, size).for_request(request_id)
    return tuple(slices), regions
