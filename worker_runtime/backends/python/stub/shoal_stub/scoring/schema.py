"""``inference_schema``, as far as scripts decorate ``run`` with it.

Where the package itself is installed, it is taken instead.
"""

import datetime
import functools
import inspect
from typing import Any, Callable

_DECORATED = "_shoal_schema_decorated"
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


class NumpyParameterType(ParameterType):
    """An array with the sample's data type; as many axes, and the same sizes but for the first."""

    def __init__(
        self, input_sample: Any, enforce_column_type: bool = True, enforce_shape: bool = True
    ) -> None:
        super().__init__(input_sample)
        self.enforce_column_type, self.enforce_shape = enforce_column_type, enforce_shape

    def deserialize_input(self, input_data: Any) -> Any:
        import numpy as np

        sample = self.sample_input
        if not isinstance(input_data, (list, np.ndarray)):
            raise ValueError(f"expected a list, got {type(input_data).__name__}")
        found = np.array(input_data)
        if self.enforce_column_type:
            found = found.astype(sample.dtype)
        if self.enforce_shape and found.shape[1:] != sample.shape[1:]:
            raise ValueError(
                f"the array has shape {found.shape}, expected one like {sample.shape}, "
                "of which only the first axis may differ"
            )
        return found


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
        sample = self.sample_input
        frame = type(sample)
        if self.orient == "split":
            found = frame(**input_data)
        elif self.orient == "index":
            found = frame.from_dict(input_data, orient="index")
        else:
            found = frame(input_data)
        if self.apply_column_names:
            found.columns = sample.columns.copy()
        if self.enforce_shape and len(found.columns) != len(sample.columns):
            raise ValueError(
                f"there are {len(found.columns)} columns, expected {len(sample.columns)}"
            )
        if self.enforce_column_type:
            types = {name: kind for name, kind in sample.dtypes.items() if name in found.columns}
            found = found.astype(types)
        return found


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

        setattr(converted, _DECORATED, True)
        return converted

    return decorated


def output_schema(output_type: Any) -> "Callable[[Callable[..., Any]], Callable[..., Any]]":
    """Says what comes back; nothing is checked, as in the package."""
    del output_type
    return lambda function: function


def is_schema_decorated(function: Any) -> bool:
    return bool(getattr(function, _DECORATED, False))


def _like(sample: Any, value: Any) -> Any:
    if isinstance(sample, ParameterType):
        return sample.deserialize_input(value)
    if isinstance(sample, dict) and isinstance(value, dict):
        missing = [name for name in sample if name not in value]
        if missing:
            raise ValueError(f"{', '.join(map(str, missing))} missing")
        return {name: _like(sample[name], v) if name in sample else v for name, v in value.items()}
    if isinstance(sample, (list, tuple)) and isinstance(value, list):
        if len(sample) == 1:
            return [_like(sample[0], item) for item in value]
        return value
    if type(sample) in _DATES:
        return _DATES[type(sample)](value)
    if isinstance(sample, (bytes, bytearray)):
        return type(sample)(value, "utf-8")
    if isinstance(sample, float) and isinstance(value, int) and not isinstance(value, bool):
        return value
    if sample is not None and not isinstance(value, type(sample)):
        raise ValueError(f"expected {type(sample).__name__}, got {type(value).__name__}")
    return value
