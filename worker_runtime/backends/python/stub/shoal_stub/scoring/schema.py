"""``inference_schema``, as far as scripts decorate ``run`` with it.

Where the package itself is installed, it is taken instead.
"""

import base64
import datetime
import functools
import inspect
import json
from typing import Any, Callable

_INPUTS, _OUTPUT = "_shoal_schema_inputs", "_shoal_schema_output"
_DATES = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
}


class ParameterType:
    """What a value of the request becomes before ``run`` sees it."""

    def __init__(self, sample_input: Any) -> None:
        self.sample_input = sample_input

    def deserialize_input(self, input_data: Any) -> Any:
        return input_data

    def input_to_swagger(self) -> "dict[str, Any]":
        """Its schema in OpenAPI's words, with the sample as example."""
        return {**described(self.sample_input), "example": sample(self.sample_input)}


class NumpyParameterType(ParameterType):
    """An array with the sample's data type; as many axes, and the same sizes but for the first."""

    def __init__(
        self, input_sample: Any, enforce_column_type: bool = True, enforce_shape: bool = True
    ) -> None:
        super().__init__(input_sample)
        self.enforce_column_type, self.enforce_shape = enforce_column_type, enforce_shape

    def deserialize_input(self, input_data: Any) -> Any:
        import numpy as np

        like = self.sample_input
        if not isinstance(input_data, (list, np.ndarray)):
            raise ValueError(f"expected a list, got {type(input_data).__name__}")
        found = np.array(input_data)
        if self.enforce_column_type:
            found = found.astype(like.dtype)
        if self.enforce_shape and found.shape[1:] != like.shape[1:]:
            raise ValueError(
                f"the array has shape {found.shape}, expected one like {like.shape}, "
                "of which only the first axis may differ"
            )
        return found

    def input_to_swagger(self) -> "dict[str, Any]":
        return {**super().input_to_swagger(), "format": "numpy.ndarray"}


class StandardPythonParameterType(ParameterType):
    """A value of the sample's type; parameter types may stand within its lists and mappings."""

    def deserialize_input(self, input_data: Any) -> Any:
        return _like(self.sample_input, input_data)


class PandasParameterType(ParameterType):
    """A data frame with the sample's columns and their types."""

    def __init__(
        self,
        input_sample: Any,
        enforce_column_type: bool = True,
        enforce_shape: bool = True,
        apply_column_names: bool = False,
        orient: str = "records",
    ) -> None:
        super().__init__(input_sample)
        self.enforce_column_type, self.enforce_shape = enforce_column_type, enforce_shape
        self.apply_column_names, self.orient = apply_column_names, orient

    def deserialize_input(self, input_data: Any) -> Any:
        like = self.sample_input
        frame = type(like)
        if self.orient == "split":
            found = frame(**input_data)
        elif self.orient == "index":
            found = frame.from_dict(input_data, orient="index")
        else:
            found = frame(input_data)
        if self.apply_column_names:
            found.columns = like.columns.copy()
        if self.enforce_shape and len(found.columns) != len(like.columns):
            raise ValueError(
                f"there are {len(found.columns)} columns, expected {len(like.columns)}"
            )
        if self.enforce_column_type:
            types = {name: kind for name, kind in like.dtypes.items() if name in found.columns}
            found = found.astype(types)
        return found

    def input_to_swagger(self) -> "dict[str, Any]":
        example = json.loads(self.sample_input.to_json(orient=self.orient))
        found = {**described(example), "example": example}
        return {**found, "format": f"pandas.DataFrame:{self.orient}"}


def input_schema(
    param_name: str,
    param_type: Any,
    convert_to_provided_type: bool = True,
    optional: bool = False,
) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    """The parameter ``param_name`` of ``run`` is a value of ``param_type``."""

    def decorated(function: "Callable[..., Any]") -> "Callable[..., Any]":
        if param_name not in inspect.signature(function).parameters:
            raise ValueError(f"@input_schema: {function.__name__}() has no parameter {param_name}")

        @functools.wraps(function)
        def converted(*args: Any, **kwargs: Any) -> Any:
            if convert_to_provided_type and (param_name in kwargs or not optional):
                try:
                    kwargs[param_name] = param_type.deserialize_input(kwargs[param_name])
                except (TypeError, ValueError, KeyError) as error:
                    raise ValueError(f"{param_name}: {error}") from error
            return function(*args, **kwargs)

        # why in front: decorators are applied from the last line to the first
        setattr(converted, _INPUTS, {param_name: param_type, **getattr(function, _INPUTS, {})})
        return converted

    return decorated


def output_schema(output_type: Any) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    """Says what comes back; nothing is checked, as in the package."""

    def decorated(function: "Callable[..., Any]") -> "Callable[..., Any]":
        setattr(function, _OUTPUT, output_type)
        return function

    return decorated


def is_schema_decorated(function: Any) -> bool:
    return bool(getattr(function, _INPUTS, None))


def get_input_schema(function: Any) -> "dict[str, Any]":
    """The JSON object that ``run`` takes, in OpenAPI's words."""
    parts = {name: kind.input_to_swagger() for name, kind in getattr(function, _INPUTS, {}).items()}
    examples = {name: part.pop("example") for name, part in parts.items()}
    return {"type": "object", "properties": parts, "example": examples}


def get_output_schema(function: Any) -> "dict[str, Any]":
    kind = getattr(function, _OUTPUT, None)
    return kind.input_to_swagger() if kind is not None else {"type": "object", "example": {}}


def described(value: Any) -> "dict[str, Any]":
    """The schema of values like this one."""
    if isinstance(value, ParameterType):
        found = value.input_to_swagger()
        del found["example"]
        return found
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _array(value)
    if isinstance(value, dict):
        properties = {str(name): described(item) for name, item in value.items()}
        return {"type": "object", "required": list(properties), "properties": properties}
    if isinstance(value, (list, tuple, range)):
        kinds = [described(item) for item in value]
        same = bool(kinds) and all(kind == kinds[0] for kind in kinds)
        mixed = {"type": "string"} if kinds else {"type": "object"}
        return {"type": "array", "items": kinds[0] if same else mixed}
    # a datetime is a date, and a bool an int: the narrower one stands first
    for kind, words in _WORDS:
        if isinstance(value, kind):
            return dict(words)
    return {"type": "object"}


def sample(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, ParameterType):
        return sample(value.sample_input)
    if hasattr(value, "tolist"):
        return sample(value.tolist())
    if isinstance(value, dict):
        return {str(name): sample(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [sample(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else value


_WORDS: "tuple[tuple[type, dict[str, Any]], ...]" = (
    (bool, {"type": "boolean"}),
    (int, {"type": "integer", "format": "int64"}),
    (float, {"type": "number", "format": "double"}),
    (str, {"type": "string"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (bytes, {"type": "string", "format": "byte"}),
    (bytearray, {"type": "string", "format": "byte"}),
)
_FLOATS = {4: "float", 8: "double"}


def _array(array: Any) -> "dict[str, Any]":
    """A list for each axis of a NumPy array."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    words: dict[str, Any] = {"type": "string"}
    if kind == "b":
        words = {"type": "boolean"}
    elif kind in "iu":
        words = {"type": "integer", "format": f"int{8 * size}"}
    elif kind == "f":
        words = {"type": "number", "format": _FLOATS.get(size, "double")}
    elif kind == "M":
        words["format"] = "date-time"
    for _ in array.shape:
        words = {"type": "array", "items": words}
    return words


def _like(like: Any, value: Any) -> Any:
    if isinstance(like, ParameterType):
        return like.deserialize_input(value)
    if isinstance(like, dict) and isinstance(value, dict):
        missing = [name for name in like if name not in value]
        if missing:
            raise ValueError(f"{', '.join(map(str, missing))} missing")
        return {name: _like(like[name], v) if name in like else v for name, v in value.items()}
    if isinstance(like, (list, tuple)) and isinstance(value, list):
        if len(like) == 1:
            return [_like(like[0], item) for item in value]
        return value
    if type(like) in _DATES:
        return _DATES[type(like)](value)
    if isinstance(like, (bytes, bytearray)):
        return type(like)(value, "utf-8")
    if isinstance(like, float) and isinstance(value, int) and not isinstance(value, bool):
        return value
    if like is not None and not isinstance(value, type(like)):
        raise ValueError(f"expected {type(like).__name__}, got {type(value).__name__}")
    return value
