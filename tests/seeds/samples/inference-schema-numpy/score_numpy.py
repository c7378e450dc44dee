import numpy as np
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
from inference_schema.schema_decorators import input_schema, output_schema


def init():
    pass


@input_schema("iris", NumpyParameterType(np.array([[1.0, 2.0, 3.0, 4.0]])))
@output_schema(NumpyParameterType(np.array([1.0])))
def run(iris):
    return iris.sum(axis=1).tolist()
