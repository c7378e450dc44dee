import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.model_config = json.loads(args["model_config"])
        self.vocab = {"hello": 1, "world": 2, "unknown": 0}
        self.max_length = 128

    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "text").as_numpy()
            batch_tokens = []
            for text in texts:
                words = text[0].decode("utf-8").lower().split()
                tokens = [self.vocab.get(word, 0) for word in words][: self.max_length]
                batch_tokens.append(tokens + [0] * (self.max_length - len(tokens)))
            output = pb_utils.Tensor("token_ids", np.array(batch_tokens, dtype=np.int64))
            responses.append(pb_utils.InferenceResponse([output]))
        return responses

    def finalize(self):
        pass
