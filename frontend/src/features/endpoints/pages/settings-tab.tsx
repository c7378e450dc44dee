/** Words, access, request settings and deletion of an endpoint. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Radio, Textarea } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ROLLED_NUMBERS } from "@/components/deployment-numbers";
import { deleteEndpoint, updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { RoleNote } from "@/components/role-note";
import { PolicyForm } from "../autoscaling/policy-form";
import { RequestSettings } from "../components/request-settings";
import { LimitsCard } from "../limits/limits-card";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "./settings-tab.module.css";

type AuthMode = "key" | "aml_token";

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
  const [description, setDescription] = useState(endpoint.description);
  const [mode, setMode] = useState<AuthMode | null>(null);
  const refusal = useRefusal("deploy");
  const [deleting, setDeleting] = useState(false);
  const save = useMutation({
    mutationFn: () => updateEndpoint(endpoint.name, { description }),
    onSuccess: (updated) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      notifyDone(t`The description is saved`);
    },
    onError: (error) => notifyProblem(error, t`The description could not be saved`),
  });
  const busy = Object.values(endpoint.traffic).some((share) => share > 0);
  return (
    <div className={classes["stack"]}>
      <RoleNote needs="deploy" to={t`change these settings`} />
      <Card title={t`Description`}>
        <Textarea
          aria-label={t`Description`}
          autosize
          minRows={2}
          maxRows={8}
          disabled={refusal !== undefined}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <div className={classes["actions"]}>
          <RefusingButton
            needs="deploy"
            disabled={description === endpoint.description}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            <Trans>Save the description</Trans>
          </RefusingButton>
        </div>
      </Card>
      <Card title={t`Access`} hint={t`how callers show that they may`}>
        <Radio.Group aria-label={t`Access`} value={endpoint.auth_mode} onChange={(value) => setMode(value as AuthMode)}>
          <Radio
            value="key"
            disabled={refusal !== undefined}
            label={t`Keys`}
            description={t`Two keys that work until they are replaced.`}
          />
          <Radio
            value="aml_token"
            mt={8}
            disabled={refusal !== undefined}
            label={t`Tokens`}
            description={t`Each works for 30 to 60 minutes; whoever may deploy may ask for one.`}
          />
        </Radio.Group>
        <p className={classes["under"]}>
          <Trans>Both are checked at the gateway by their hash, and act within five seconds.</Trans>
        </p>
      </Card>
      <LimitsCard endpoint={endpoint} />
      {endpoint.deployments.length > 0 ? (
        <Card title={t`Requests`} hint={t`by deployment; in force within seconds; another wait or cache comes with new replicas`}>
          {endpoint.deployments.map((deployment) => (
            <RequestSettings
              key={[
                deployment.name,
                deployment.request_timeout_ms,
                deployment.retries,
                ...ROLLED_NUMBERS.map((name) => deployment[name]),
              ].join(" ")}
              endpoint={endpoint.name}
              deployment={deployment}
            />
          ))}
        </Card>
      ) : null}
      {endpoint.deployments.length > 0 ? (
        <Card title={t`Autoscaling`} hint={t`by deployment; what one replica shall carry, and the target that wants most replicas wins`}>
          {endpoint.deployments.map((deployment) => (
            <PolicyForm
              key={`${deployment.name} ${JSON.stringify(deployment.autoscale)}`}
              endpoint={endpoint.name}
              deployment={deployment}
            />
          ))}
        </Card>
      ) : null}
      <ConfirmModal
        opened={mode !== null}
        onClose={() => setMode(null)}
        title={mode === "aml_token" ? t`Open the endpoint by tokens` : t`Open the endpoint by keys`}
        confirmLabel={mode === "aml_token" ? t`Use tokens` : t`Use keys`}
        danger={busy}
        onConfirm={async () => {
          if (mode === null) return;
          queryClient.setQueryData(keys.endpoints.one(endpoint.name), await updateEndpoint(endpoint.name, { auth_mode: mode }));
          notifyDone(mode === "key" ? t`${endpoint.name} is opened by keys now` : t`${endpoint.name} is opened by tokens now`);
        }}
      >
        <p>
          {mode === "aml_token"
            ? t`Callers that send a key are refused with 401 within seconds.`
            : t`Callers that send a token are refused with 401 within seconds.`}
        </p>
      </ConfirmModal>
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
