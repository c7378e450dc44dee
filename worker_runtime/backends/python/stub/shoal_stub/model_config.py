"""``auto_complete_config``: what a model says about itself, merged with what is written."""

from typing import Any


class ModelConfig:
    """A model's configuration while it completes itself. Conflicts raise ValueError."""

    def __init__(self, config: "dict[str, Any]") -> None:
        self._config = config
        self._config.setdefault("input", [])
        self._config.setdefault("output", [])

    def as_dict(self) -> "dict[str, Any]":
        return self._config

    def set_max_batch_size(self, max_batch_size: int) -> None:
        """Set it unless it is set; raises ValueError when a larger one is."""
        configured = self._config.get("max_batch_size", 0)
        if configured > max_batch_size:
            raise ValueError(
                "configuration specified max_batch_size "
                f"{configured}, but in auto-complete-config function for model "
                f"'{self._config['name']}' specified max_batch_size {max_batch_size}"
            )
        self._config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self) -> None:
        for other in ("sequence_batching", "ensemble_scheduling"):
            if other in self._config:
                raise ValueError(
                    "Configuration specified scheduling_choice as "
                    f"'{other}', but auto-complete-config function for model "
                    f"'{self._config['name']}' tries to set scheduling_choice as 'dynamic_batching'"
                )
        self._config.setdefault("dynamic_batching", {})

    def set_model_transaction_policy(self, policy: "dict[str, Any]") -> None:
        unknown = [key for key in policy if key != "decoupled"]
        if unknown:
            raise ValueError(
                f"model transaction property in auto-complete-config function for model "
                f"'{self._config['name']}' contains property other than 'decoupled'."
            )
        given = self._config.setdefault("model_transaction_policy", {})
        if "decoupled" not in policy:
            return
        if given.setdefault("decoupled", policy["decoupled"]) != policy["decoupled"]:
            raise ValueError(
                "trying to change decoupled property in auto-complete-config "
                f"for model '{self._config['name']}', which is already set to "
                f"'{given['decoupled']}'."
            )

    def add_input(self, tensor: "dict[str, Any]") -> None:
        self._add("input", tensor, ("name", "data_type", "dims", "optional"))

    def add_output(self, tensor: "dict[str, Any]") -> None:
        self._add("output", tensor, ("name", "data_type", "dims"))

    def _add(self, kind: str, tensor: "dict[str, Any]", allowed: "tuple[str, ...]") -> None:
        model = self._config["name"]
        for key in tensor:
            if key not in allowed:
                raise ValueError(
                    f"{kind} '{tensor.get('name', '')}' in auto-complete-config function for "
                    f"model '{model}' contains property other than 'name', 'data_type'"
                    + (", 'dims' and 'optional'." if kind == "input" else " and 'dims'.")
                )
        for key in ("name", "data_type", "dims"):
            if key not in tensor:
                which = f"{kind} '{tensor['name']}'" if "name" in tensor else kind
                raise ValueError(
                    f"{which} in auto-complete-config function for model '{model}' is missing "
                    f"'{key}' property."
                )
        for known in self._config[kind]:
            if known["name"] == tensor["name"]:
                self._compare(kind, known, tensor)
                return
        added = {"name": tensor["name"], "data_type": tensor["data_type"]}
        added["dims"] = list(tensor["dims"])
        if tensor.get("optional"):
            added["optional"] = True
        self._config[kind].append(added)

    def _compare(self, kind: str, known: "dict[str, Any]", tensor: "dict[str, Any]") -> None:
        model, name = self._config["name"], tensor["name"]
        if known.get("data_type", "TYPE_INVALID") not in ("TYPE_INVALID", tensor["data_type"]):
            raise ValueError(
                f"unable to load model '{model}', configuration expects datatype "
                f"{known['data_type']} for {kind} '{name}', model provides {tensor['data_type']}"
            )
        if known.get("dims") and [int(d) for d in known["dims"]] != list(tensor["dims"]):
            raise ValueError(
                f"model '{model}', tensor '{name}': the model expects dims {list(tensor['dims'])} "
                f"but the model configuration specifies dims {list(known['dims'])}"
            )
        optional = known.get("optional", False)
        if tensor.get("optional", optional) != optional:
            raise ValueError(
                f"model '{model}', tensor '{name}': the model expects optional "
                f"{tensor['optional']} but the model configuration specifies optional {optional}"
            )
        known["data_type"] = tensor["data_type"]
        known["dims"] = list(tensor["dims"])
