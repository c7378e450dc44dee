/** How callers of an endpoint show that they may. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Radio } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Endpoint } from "@/api/types";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { useSaving } from "@/components/saving";
import classes from "./settings.module.css";

type AuthMode = "key" | "aml_token";

const modeOf = ({ auth_mode: mode }: Endpoint): AuthMode => (mode === "aml_token" ? "aml_token" : "key");

export function AccessCard({ endpoint, busy }: { endpoint: Endpoint; busy: boolean }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const shownBy = keys.endpoints.one(endpoint.name);
  // Of two modes, whatever others chose is either the one that was seen or the one that is wished: nobody has to be asked.
  const saving = useSaving({ thing: endpoint, part: modeOf, shownBy });
  const mode = saving.draft;
  const save = async (auth_mode: AuthMode, { etag }: Endpoint) => {
    queryClient.setQueryData(shownBy, await updateEndpoint(endpoint.name, { auth_mode }, etag));
    notifyDone(auth_mode === "key" ? t`${endpoint.name} is opened by keys now` : t`${endpoint.name} is opened by tokens now`);
  };
  return (
    <Card title={t`Access`} hint={t`how callers show that they may`}>
      <Radio.Group aria-label={t`Access`} value={endpoint.auth_mode} onChange={(value) => saving.edit(value as AuthMode)}>
        <Radio value="key" disabled={refusal !== undefined} label={t`Keys`} description={t`Two keys that work until they are replaced.`} />
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
      <ConfirmModal
        opened={saving.edited}
        onClose={saving.discard}
        title={mode === "aml_token" ? t`Open the endpoint by tokens` : t`Open the endpoint by keys`}
        confirmLabel={mode === "aml_token" ? t`Use tokens` : t`Use keys`}
        danger={busy}
        onConfirm={() => saving.sendNow(save)}
      >
        <p>
          {mode === "aml_token"
            ? t`Callers that send a key are refused with 401 within seconds.`
            : t`Callers that send a token are refused with 401 within seconds.`}
        </p>
      </ConfirmModal>
    </Card>
  );
}
