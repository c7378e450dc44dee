"""TorchScript, torch.export and AOTInductor models; nothing that would have to be unpickled."""
