"""How batches run: threads per instance, tensors gathered and split, answers sent back."""
