"""What the inspection of files found, on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.registry.code import KINDS
from controlplane.registry.code_state import STATES

Fields = serializers.Serializer[Any]


class FileEntrySerializer(Fields):
    path = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()


class TensorSpecSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField(), help_text="-1 where unknown")
    optional = serializers.BooleanField(required=False)
    labels = serializers.ListField(child=serializers.CharField(), allow_null=True, required=False)


@extend_schema_field({"type": "array", "items": {"type": ["integer", "string"]}})
class GraphShapeField(serializers.JSONField):
    """A graph's raw shape: numbers, -1, or the symbolic name of an axis."""


SEVERITIES = "info: a note; nothing is wrong"


class GraphTensorSerializer(Fields):
    name = serializers.CharField()
    datatype = serializers.CharField()
    shape = GraphShapeField()


class ArgumentSerializer(Fields):
    name = serializers.CharField()
    type = serializers.CharField()


class GraphSerializer(Fields):
    """What the file itself tells. `complete` is false where it does not tell all tensors."""

    backend = serializers.CharField(required=False)
    complete = serializers.BooleanField(required=False)
    arguments = ArgumentSerializer(many=True, required=False, help_text="TorchScript's forward")
    reads = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="names in Python code"
    )
    writes = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="names in Python code"
    )
    inputs = GraphTensorSerializer(many=True)
    outputs = GraphTensorSerializer(many=True)
    producer = serializers.CharField(required=False, allow_blank=True)
    opset = serializers.IntegerField(required=False, allow_null=True)


class ProposalSerializer(Fields):
    text = serializers.CharField(help_text="a config.pbtxt that would do")
    certain = serializers.BooleanField(help_text="false: types and shapes in it are guesses")


class InspectedModelSerializer(Fields):
    name = serializers.CharField()
    backend = serializers.CharField()
    platform = serializers.CharField(allow_blank=True)
    versions = serializers.ListField(child=serializers.IntegerField())
    max_batch_size = serializers.IntegerField()
    decoupled = serializers.BooleanField(required=False)
    inputs = TensorSpecSerializer(many=True)
    outputs = TensorSpecSerializer(many=True)
    config_text = serializers.CharField(allow_blank=True)
    config_effective = serializers.CharField(allow_blank=True)
    graph = GraphSerializer(allow_null=True)
    provenance = serializers.DictField(
        child=serializers.ChoiceField(choices=["config", "model", "config+model", "default"]),
        required=False,
        help_text="who said max_batch_size, dynamic_batching, inputs and outputs",
    )
    files = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    proposal = ProposalSerializer(allow_null=True, required=False)


class ConfigFixSerializer(Fields):
    label = serializers.CharField()  # type: ignore[assignment]  # a wire field, as in the contract
    text = serializers.CharField(help_text="the whole corrected text")


class InspectionProblemSerializer(Fields):
    scope = serializers.ChoiceField(
        choices=["config", "files"], required=False, help_text="config: another text mends it"
    )
    line = serializers.IntegerField(required=False, help_text="0 where there is no place")
    field = serializers.CharField(required=False, allow_blank=True)
    fix = ConfigFixSerializer(allow_null=True, required=False)
    severity = serializers.ChoiceField(choices=["error", "warning", "info"], help_text=SEVERITIES)
    model = serializers.CharField(allow_null=True, allow_blank=True)
    code = serializers.CharField()
    message = serializers.CharField(help_text="in Triton's words where it has some")
    plain = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="the same in one plain sentence, if there is one",
    )
    detail = serializers.CharField(allow_null=True, allow_blank=True)
    hints = serializers.ListField(child=serializers.CharField())


class InspectionSerializer(Fields):
    models = InspectedModelSerializer(many=True)
    problems = InspectionProblemSerializer(many=True)


class CodeReasonSerializer(Fields):
    file = serializers.CharField()
    kind = serializers.ChoiceField(choices=list(KINDS))
    message = serializers.CharField(help_text="one sentence for people")


class CodeSerializer(Fields):
    """Whether it brings code that nodes would run, and whether that may run here."""

    state = serializers.ChoiceField(
        choices=list(STATES),
        help_text="none: no code; waiting: for an approval; refused: by SHOAL_CODE_POLICY",
    )
    reasons = CodeReasonSerializer(many=True)
    approved_by = serializers.CharField(allow_null=True)
    approved_at = serializers.DateTimeField(allow_null=True)
