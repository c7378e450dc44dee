/** Words, access, request settings and deletion of an endpoint. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { RoleNote } from "@/components/role-note";
import { PolicyForm } from "../autoscaling/policy-form";
import { RequestSettings } from "../components/request-settings";
import { LimitsCard } from "../limits/limits-card";
import { useEndpoint } from "../hooks/use-endpoint";
import { AccessCard } from "../settings/access-card";
import { DescriptionCard } from "../settings/description-card";
import classes from "../settings/settings.module.css";

const goneText = (deployments: number): string =>
  plural(deployments, {
    0: "The URL, the keys and these settings go; models stay registered. This cannot be undone.",
    one: "The URL, the keys and its deployment go; models stay registered. This cannot be undone.",
    other: "The URL, the keys and all # deployments go; models stay registered. This cannot be undone.",
  });

export function SettingsTab() {
  const endpoint = useEndpoint();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  const busy = Object.values(endpoint.traffic).some((share) => share > 0);
  return (
    <div className={classes["stack"]}>
      <RoleNote needs="deploy" to={t`change these settings`} />
      <DescriptionCard endpoint={endpoint} />
      <AccessCard endpoint={endpoint} busy={busy} />
      <LimitsCard endpoint={endpoint} />
      {endpoint.deployments.length > 0 ? (
        <Card title={t`Requests`} hint={t`by deployment; in force within seconds; another wait or cache comes with new replicas`}>
          {endpoint.deployments.map((deployment) => (
            <RequestSettings key={deployment.name} endpoint={endpoint.name} deployment={deployment} />
          ))}
        </Card>
      ) : null}
      {endpoint.deployments.length > 0 ? (
        <Card title={t`Autoscaling`} hint={t`by deployment; what one replica shall carry, and the target that wants most replicas wins`}>
          {endpoint.deployments.map((deployment) => (
            <PolicyForm key={deployment.name} endpoint={endpoint.name} deployment={deployment} />
          ))}
        </Card>
      ) : null}
      <Card title={t`Delete this endpoint`}>
        <p className={classes["text"]}>{goneText(endpoint.deployments.length)}</p>
        <div className={classes["actions"]}>
          <RefusingButton
            needs="deploy"
            color="red"
            variant="outline"
            leftSection={<IconTrash size={15} />}
            onClick={() => setDeleting(true)}
          >
            <Trans>Delete {endpoint.name}</Trans>
          </RefusingButton>
        </div>
      </Card>
      <ConfirmModal
        opened={deleting}
        onClose={() => setDeleting(false)}
        title={t`Delete ${endpoint.name}`}
        confirmLabel={t`Delete ${endpoint.name}`}
        danger
        typeToConfirm={endpoint.name}
        onConfirm={async () => {
          await deleteEndpoint(endpoint.name);
          notifyDone(t`${endpoint.name} is being deleted`);
          await navigate(paths.endpoints());
          await queryClient.invalidateQueries({ queryKey: keys.endpoints.all });
        }}
      >
        <p>
          {busy ? (
            <b>
              <Trans>It receives traffic now.</Trans>{" "}
            </b>
          ) : null}
          <Trans>Callers will be answered 404 from then on.</Trans>
        </p>
      </ConfirmModal>
    </div>
  );
}
