import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.model_config = json.loads(args["model_config"])

    def execute(self, requests):
        responses = []
        for request in requests:
            raw_image = pb_utils.get_input_tensor_by_name(request, "raw_image").as_numpy()
            processed = self.preprocess(raw_image)
            tensor = pb_utils.Tensor("processed_image", processed.astype(np.float32))
            responses.append(pb_utils.InferenceResponse(output_tensors=[tensor]))
        return responses

    def preprocess(self, image):
        rows = np.linspace(0, image.shape[1] - 1, 224).astype(int)
        columns = np.linspace(0, image.shape[2] - 1, 224).astype(int)
        return image[:, rows][:, :, columns].transpose(0, 3, 1, 2) / 255

    def finalize(self):
        pass
