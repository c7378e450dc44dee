"""Instance types to begin with, under the names that Azure's YAML files call for; and revisions
remember the labels that their deployments asked for.

A GPU is preferred, not required: the same file then also runs on a machine without one. Whoever
wants to refuse that sets the policy to `required`.
"""

from django.db import migrations

CPU = """
    Standard_DS1_v2 Standard_DS2_v2 Standard_DS3_v2 Standard_DS4_v2 Standard_DS5_v2
    Standard_D2a_v4 Standard_D4a_v4 Standard_D8a_v4 Standard_D16a_v4 Standard_D32a_v4
    Standard_D48a_v4 Standard_D64a_v4 Standard_D96a_v4 Standard_F2s_v2 Standard_F4s_v2
    Standard_F8s_v2 Standard_F16s_v2 Standard_F32s_v2 Standard_F48s_v2 Standard_F64s_v2
    Standard_F72s_v2 Standard_E2s_v3 Standard_E4s_v3 Standard_E8s_v3 Standard_E16s_v3
    Standard_E32s_v3 Standard_E48s_v3 Standard_E64s_v3 Standard_L4s Standard_L8s Standard_L16s
    Standard_L32s Standard_L8s_v2 Standard_L16s_v2 Standard_L32s_v2 Standard_L48as_v3
    Standard_L64as_v3 Standard_L80as_v3
""".split()
GPU = {
    "gpu": """
        Standard_NC4as_T4_v3 Standard_NC8as_T4_v3 Standard_NC16as_T4_v3 Standard_NC6
        Standard_NC6s_v2 Standard_NC6s_v3 Standard_NC24ads_A100_v4 Standard_NC40ads_H100_v5
    """.split(),
    "gpu-2": """
        Standard_NC12 Standard_NC12s_v2 Standard_NC12s_v3 Standard_NC48ads_A100_v4
        Standard_NC80adis_H100_v5
    """.split(),
    "gpu-4": """
        Standard_NC24 Standard_NC24s_v2 Standard_NC24s_v3 Standard_NC64as_T4_v3
        Standard_NC96ads_A100_v4
    """.split(),
    "gpu-8": """
        Standard_ND40rs_v2 Standard_ND96asr_v4 Standard_ND96amsr_A100_v4
        Standard_ND96isr_H100_v5
    """.split(),
}


def add(apps, schema_editor):
    kinds = apps.get_model("deployments", "InstanceType").objects
    kinds.create(name="cpu", aliases=CPU, description="Processors only; sees no GPU.")
    for name, aliases in GPU.items():
        count = int(name.partition("-")[2] or 1)
        plural = "GPUs" if count > 1 else "GPU"
        kinds.create(
            name=name,
            aliases=aliases,
            description=f"{count} {plural} of its own; processors where none is free.",
            gpu_count=count,
            gpu_policy="preferred",
        )
    for revision in apps.get_model("deployments", "DeploymentRevision").objects.select_related(
        "deployment"
    ):
        revision.node_labels = revision.deployment.node_labels
        revision.save(update_fields=["node_labels"])


class Migration(migrations.Migration):
    dependencies = [("deployments", "0006_instance_types")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
