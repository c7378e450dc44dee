/** Personal tokens for the command line, the SDK and CI. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { deleteToken, tokensQuery } from "@/api/session";
import type { ApiToken } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { notifyDone } from "@/components/notify";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import { TokenForm } from "../components/token-form";
import { revokeTokenRecipe } from "../recipes";
import { tokenEnd } from "../token-choices";
import classes from "./settings.module.css";

function Expiry({ at }: { at: string | null }) {
  const end = tokenEnd(at);
  if (end === "open")
    return (
      <span className="muted">
        <Trans>when revoked</Trans>
      </span>
    );
  if (end === "past")
    return (
      <Chip tone="error">
        <Trans>expired</Trans>
      </Chip>
    );
  return end === "soon" ? (
    <Chip tone="warn">
      <Time at={at} />
    </Chip>
  ) : (
    <Time at={at} />
  );
}

export function TokensPage() {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(tokensQuery());
  const [revoking, setRevoking] = useState<ApiToken | null>(null);
  const columns: Column<ApiToken>[] = [
    {
      id: "name",
      header: t`Name`,
      cell: (row) => (
        <>
          <b>{row.name}</b>
          <div className="secondary mono">{row.prefix}…</div>
        </>
      ),
    },
    {
      id: "scopes",
      header: t`May do`,
      hideBelow: "sm",
      cell: (row) =>
        row.scopes.length === 0 ? (
          <span className="muted">
            <Trans>all that I may</Trans>
          </span>
        ) : (
          <span className={classes["chips"]}>
            {row.scopes.map((scope) => (
              <Chip key={scope}>{scope}</Chip>
            ))}
          </span>
        ),
    },
    { id: "created", header: t`Made`, hideBelow: "md", cell: (row) => <Time at={row.created_at} /> },
    { id: "ends", header: t`Ends`, cell: (row) => <Expiry at={row.expires_at} /> },
    {
      id: "used",
      header: t`Last used`,
      cell: (row) =>
        row.last_used_at ? (
          <Time at={row.last_used_at} />
        ) : (
          <span className="muted">
            <Trans>never</Trans>
          </span>
        ),
    },
    {
      id: "revoke",
      header: (
        <span className="sr-only">
          <Trans>Revoke</Trans>
        </span>
      ),
      align: "right",
      cell: (row) => (
        <Button variant="default" leftSection={<IconTrash size={15} />} onClick={() => setRevoking(row)} aria-label={t`Revoke ${row.name}`}>
          <Trans>Revoke</Trans>
        </Button>
      ),
    },
  ];
  return (
    <div className={classes["stack"]}>
      <TokenForm />
      {error && !data ? (
        <LoadProblem error={error} what={t`The tokens`} needs="account" onRetry={() => void refetch()} />
      ) : (
        <Card title={t`Tokens`} flush>
          <DataTable
            label={t`Tokens`}
            choose="tokens"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => String(row.id)}
            loading={isPending}
            empty={
              <EmptyState
                title={t`No tokens yet`}
                detail={t`The command line on this machine signs in by itself; tokens are for other places.`}
              />
            }
          />
        </Card>
      )}
      <ConfirmModal
        opened={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t`Revoke ${revoking?.name ?? ""}`}
        confirmLabel={t`Revoke ${revoking?.name ?? ""}`}
        danger
        onConfirm={async () => {
          if (!revoking) return;
          await deleteToken(revoking.id);
          await queryClient.invalidateQueries({ queryKey: keys.tokens });
          notifyDone(t`${revoking.name} is revoked`);
        }}
      >
        <p>
          <Trans>Whatever uses it is refused from now on.</Trans>
        </p>
        {revoking ? <AsCodeButton wide recipe={() => revokeTokenRecipe(revoking)} /> : null}
      </ConfirmModal>
    </div>
  );
}
