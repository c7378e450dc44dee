/** Short-lived tokens of an endpoint that is opened by them: one is shown once, all can be ended at once. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { makeEndpointToken, revokeEndpointTokens } from "@/api/endpoints";
import { useRefusal } from "@/api/permissions";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { CopyField } from "@/components/copy";
import { ProblemCard } from "@/components/problem-card";
import { Time } from "@/components/time";
import { notifyRevoked } from "../notify-revoked";
import classes from "../pages/keys-tab.module.css";

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

export function TokenCard({ endpoint }: { endpoint: string }) {
  const [asking, setAsking] = useState(false);
  const refusal = useRefusal("keys");
  const make = useMutation({ mutationFn: () => makeEndpointToken(endpoint) });
  return (
    <Card
      title={t`Tokens`}
      hint={t`they open the endpoint for 30 to 60 minutes`}
      actions={
        <>
          <Button color="red" variant="outline" disabled={refusal !== undefined} title={refusal} onClick={() => setAsking(true)}>
            <Trans>Revoke all tokens</Trans>
          </Button>
          <Button
            leftSection={<IconKey size={15} />}
            loading={make.isPending}
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => make.mutate()}
          >
            <Trans>Make a token</Trans>
          </Button>
        </>
      }
    >
      {make.error ? <ProblemCard error={make.error} title={t`No token could be made`} onRetry={() => make.mutate()} /> : null}
      {make.data ? (
        <>
          <CopyField prefix="Bearer" text={make.data.accessToken} label={t`token`} />
          <p className={classes["note"]}>
            <Trans>
              Shown only now. It ends <Time at={iso(make.data.expiryTimeUtc)} />; ask for the next one from{" "}
              <Time at={iso(make.data.refreshAfterTimeUtc)} /> on.
            </Trans>
          </p>
        </>
      ) : (
        <p className={classes["note"]}>
          <Trans>
            Send a token as <span className="mono">Authorization: Bearer …</span>. Programs get one by{" "}
            <span className="mono">POST /api/v1/endpoints/{endpoint}/token</span>, and the SDK does so by itself.
          </Trans>
        </p>
      )}
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Revoke all tokens`}
        confirmLabel={t`Revoke all tokens`}
        danger
        onConfirm={async () => {
          await revokeEndpointTokens(endpoint);
          make.reset();
          void notifyRevoked(endpoint, t`No token of before works any more`, t`Tokens of before may still open the endpoint`);
        }}
      >
        <p>
          <Trans>Callers with a token of before are refused with 401 within seconds, until they ask for a new one.</Trans>
        </p>
      </ConfirmModal>
    </Card>
  );
}
