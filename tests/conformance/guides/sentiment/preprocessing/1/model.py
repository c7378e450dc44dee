import json

import triton_python_backend_utils as pb_utils
import yaml
from transformers import AutoTokenizer


class TritonPythonModel:
    def initialize(self, args):
        self.logger = pb_utils.Logger
        params = json.loads(args["model_config"])["parameters"]
        recipe_file = params["recipe_file"]["string_value"]
        try:
            with open(recipe_file) as file:
                backbone_model_name = yaml.safe_load(file)["backbone_model_name"]
        except Exception as e:
            raise pb_utils.TritonModelException(f"An error occurred loading the YAML file: {e}")
        self.tokenizer = AutoTokenizer.from_pretrained(backbone_model_name)
        self.max_seq_len = int(params.get("max_seq_len", 64))
        print("Initialized...")

    def execute(self, requests):
        responses = []
        prefix = "classification: "
        for request in requests:
            query = pb_utils.get_input_tensor_by_name(request, "QUERY").as_numpy()
            query = [prefix + q.decode("utf-8") for q in query.flatten()]
            self.logger.log_info(f"Input query : {query}")
            batch = self.tokenizer(
                query,
                padding="max_length",
                max_length=self.max_seq_len,
                truncation=True,
                pad_to_multiple_of=8,
                return_tensors="np",
            )
            ids = pb_utils.Tensor("INPUT_IDS", batch["input_ids"])
            mask = pb_utils.Tensor("ATTENTION_MASK", batch["attention_mask"])
            responses.append(pb_utils.InferenceResponse(output_tensors=[ids, mask]))
        return responses

    def finalize(self):
        print("Cleaning up...")
