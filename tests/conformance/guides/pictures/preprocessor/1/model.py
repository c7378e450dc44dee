import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            pictures = pb_utils.get_input_tensor_by_name(request, "RAW_IMAGE").as_numpy()
            pixels = np.stack([self.decoded(picture) for picture in pictures])
            tensor = pb_utils.Tensor("PREPROCESSED_IMAGE", pixels)
            responses.append(pb_utils.InferenceResponse(output_tensors=[tensor]))
        return responses

    def decoded(self, data):
        picture = Image.open(io.BytesIO(data.tobytes())).convert("RGB").resize((224, 224))
        return np.asarray(picture, np.float32).transpose(2, 0, 1) / 255
