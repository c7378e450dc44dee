"""One vector of length 1 per text: the mean over its tokens, padding left out."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            tokens = pb_utils.get_input_tensor_by_name(request, "token_embeddings").as_numpy()
            mask = pb_utils.get_input_tensor_by_name(request, "attention_mask").as_numpy()
            weights = mask[:, :, None].astype(np.float32)
            mean = (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
            norm = np.linalg.norm(mean, axis=1, keepdims=True)
            vectors = mean / np.maximum(norm, 1e-12)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("EMBEDDING", vectors)]))
        return answers
