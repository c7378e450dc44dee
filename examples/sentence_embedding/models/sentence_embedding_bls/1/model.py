"""The ensemble's three steps as code (business logic scripting): free to branch where it must not.

What a schedule cannot say: a text of nothing but white space costs no inference; its vector is 0.
"""

import numpy as np
import triton_python_backend_utils as pb_utils

DIMENSIONS = 384


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        worth = [row for row, text in enumerate(texts[:, 0]) if text.strip()]
        try:
            if worth:
                vectors[worth] = self.embed(texts[worth])
        except pb_utils.TritonModelException as error:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))
        return pb_utils.InferenceResponse([pb_utils.Tensor("EMBEDDING", vectors)])

    def embed(self, texts):
        ids, mask = call(
            "tokenizer", [pb_utils.Tensor("TEXT", texts)], ["input_ids", "attention_mask"]
        )
        (tokens,) = call("encoder", [ids, mask], ["token_embeddings"])
        (vectors,) = call("pooling", [tokens, mask], ["EMBEDDING"])
        return vectors.as_numpy()


def call(model, inputs, outputs):
    """The named outputs of another model. Raises TritonModelException with its words."""
    request = pb_utils.InferenceRequest(
        model_name=model, inputs=inputs, requested_output_names=outputs
    )
    answer = request.exec()
    if answer.has_error():
        raise pb_utils.TritonModelException(f"{model}: {answer.error().message()}")
    return [pb_utils.get_output_tensor_by_name(answer, name) for name in outputs]
