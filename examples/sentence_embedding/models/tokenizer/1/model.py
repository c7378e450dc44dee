"""Texts to token ids, with the tokenizer file that belongs to the encoder's weights."""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers import Tokenizer


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.tokenizer = Tokenizer.from_file(str(Path(__file__).with_name("tokenizer.json")))
        self.tokenizer.enable_truncation(int(parameters["max_tokens"]["string_value"]))
        # Rows of one request get one length; no longer than its longest text needs.
        self.tokenizer.enable_padding(pad_id=self.tokenizer.token_to_id("[PAD]"))

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        try:
            rows = self.tokenizer.encode_batch([text.decode("utf-8") for text in texts.flatten()])
        except UnicodeDecodeError as error:
            return pb_utils.InferenceResponse(
                error=pb_utils.TritonError(
                    f"TEXT is not UTF-8: {error}", pb_utils.TritonError.INVALID_ARG
                )
            )
        ids = np.array([row.ids for row in rows], dtype=np.int64)
        mask = np.array([row.attention_mask for row in rows], dtype=np.int64)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("input_ids", ids), pb_utils.Tensor("attention_mask", mask)]
        )
