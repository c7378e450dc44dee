"""Hints of the installation, which are about REST, as the commands that do the same."""

import re
from collections.abc import Iterable
from typing import Final

# Whole hints, or the parts in backquotes of one; the first that fits.
COMMANDS: Final = tuple(
    (re.compile(pattern), command)
    for pattern, command in (
        (r"the same with `\?supersede=true` \(`--supersede`\)", "the same with `--supersede`"),
        (
            r"a change of the traffic with `\?supersede=true` \(`--supersede`\)",
            "a change of the traffic with `--supersede`",
        ),
        (r"`--skip-golden` \(`\?skip_golden=true`\)", "`--skip-golden`"),
        (r"`GET /api/v1/endpoints/\{endpoint\}/rollouts`", "`shoal rollout list ENDPOINT`"),
        (r"`GET /api/v1/endpoints`", "`shoal endpoint list`"),
        (r"`GET /api/v1/endpoints/\{endpoint\}`", "`shoal endpoint show NAME`"),
        (r"`GET /api/v1/models\?archived=all`", "`shoal model list --include-archived`"),
        (
            r"`GET /api/v1/environments\?archived=all`",
            "`shoal environment list --include-archived`",
        ),
        (r"`GET /api/v1/models/\{name\}/versions`", "`shoal model list --name NAME`"),
        (r"`GET /api/v1/models/\{name\}`", "`shoal model show NAME`"),
        (r"`GET \.\.\./(files|config-revisions)`", "`shoal model show NAME -o yaml`"),
        (r"POST /try-loads", "`shoal model try-load NAME`"),
        (r"`GET /api/v1/nodes`", "`shoal node list`"),
        (r"`GET /api/v1/gateways`", "`shoal gateway list`"),
        (r"`GET /api/v1/operations`", "`shoal operation list`"),
        (r"`GET /api/v1/instance-types`", "`shoal instance-type list`"),
        (r"`GET /api/v1/signing-keys`", "`shoal signing-key list`"),
        (r"`GET /api/v1/service-accounts`", "`shoal service-account list`"),
        (r"`GET /api/v1/users`", "`shoal user list`"),
        (r"`GET /api/v1/events/archives`", "`shoal audit archives`"),
        (r"`GET /api/v1/events/verify`", "`shoal audit verify`"),
        (r"`GET /api/v1/projects/\{name\}/members`", "`shoal project members NAME`"),
        (r"`GET /api/v1/projects`", "`shoal project list`"),
        (r"`GET \.\.\./signatures`", "`shoal model signature`"),
        (r"`GET \.\.\./requests\?id=`", "`shoal requests ENDPOINT --id ID`"),
        (r"`GET \.\.\./captured`", "`shoal capture list ENDPOINT DEPLOYMENT`"),
        (
            r"`GET \.\.\./deployments/\{deployment\}/sweeps`",
            "`shoal sweep list ENDPOINT DEPLOYMENT`",
        ),
        (
            r"`GET \.\.\./deployments/\{deployment\}/tunings`",
            "`shoal tune list ENDPOINT DEPLOYMENT`",
        ),
        (r"leave `same_tensors` out", "say `--allow-other-tensors`"),
        (r"send `while_serving: true`", "say `--while-serving`"),
        (r"`GET \.\.\./revisions`", "The deployment's page in the studio"),
        (r"`POST /api/v1/placement/preview`", "`shoal node show NAME`"),
        (r"`POST \.\.\./stop`", "`shoal online-deployment stop`"),
        (
            r"`PUT \.\.\./mirror` with \{\"mirror_traffic\": \{\}\}",
            "`shoal traffic ENDPOINT --mirror NAME=0`",
        ),
        (
            r"Take these out of `traffic_rules` first: `PUT \.\.\./traffic`",
            "Say the others first, or none: `shoal traffic ENDPOINT --rule RULE` or `--no-rules`",
        ),
        (r"/api/v1/openapi\.json", "`shoal COMMAND --help`"),
    )
)


def as_command(hint: str) -> str:
    for pattern, command in COMMANDS:
        hint = pattern.sub(command, hint)
    return hint


def as_commands(hints: Iterable[str] | None) -> list[str]:
    return [as_command(hint) for hint in hints or ()]
