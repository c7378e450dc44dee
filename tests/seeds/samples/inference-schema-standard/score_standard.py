from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema


def init():
    pass


@input_schema("iris", StandardPythonParameterType([{"width": 1.0, "length": 2.0}]))
@output_schema(StandardPythonParameterType([1.0]))
def run(iris):
    return [row["width"] * row["length"] for row in iris]
