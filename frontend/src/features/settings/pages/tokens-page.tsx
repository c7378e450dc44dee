/** Personal tokens for the command line, the SDK and CI. */
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
  if (end === "open") return <span className="muted">when revoked</span>;
  if (end === "past") return <Chip tone="error">expired</Chip>;
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
      header: "Name",
      cell: (row) => (
        <>
          <b>{row.name}</b>
          <div className="secondary mono">{row.prefix}…</div>
        </>
      ),
    },
    {
      id: "scopes",
      header: "May do",
      hideBelow: "sm",
      cell: (row) =>
        row.scopes.length === 0 ? (
          <span className="muted">all that I may</span>
        ) : (
          <span className={classes["chips"]}>
            {row.scopes.map((scope) => (
              <Chip key={scope}>{scope}</Chip>
            ))}
          </span>
        ),
    },
    { id: "created", header: "Made", hideBelow: "md", cell: (row) => <Time at={row.created_at} /> },
    { id: "ends", header: "Ends", cell: (row) => <Expiry at={row.expires_at} /> },
    {
      id: "used",
      header: "Last used",
      cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} /> : <span className="muted">never</span>),
    },
    {
      id: "revoke",
      header: <span className="sr-only">Revoke</span>,
      align: "right",
      cell: (row) => (
        <Button variant="default" leftSection={<IconTrash size={15} />} onClick={() => setRevoking(row)} aria-label={`Revoke ${row.name}`}>
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <div className={classes["stack"]}>
      <TokenForm />
      {error && !data ? (
        <LoadProblem error={error} what="The tokens" needs="account" onRetry={() => void refetch()} />
      ) : (
        <Card title="Tokens" flush>
          <DataTable
            label="Tokens"
            choose="tokens"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => String(row.id)}
            loading={isPending}
            empty={
              <EmptyState
                title="No tokens yet"
                detail="The command line on this machine signs in by itself; tokens are for other places."
              />
            }
          />
        </Card>
      )}
      <ConfirmModal
        opened={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke ${revoking?.name ?? ""}`}
        confirmLabel={`Revoke ${revoking?.name ?? ""}`}
        danger
        onConfirm={async () => {
          if (!revoking) return;
          await deleteToken(revoking.id);
          await queryClient.invalidateQueries({ queryKey: keys.tokens });
          notifyDone(`${revoking.name} is revoked`);
        }}
      >
        <p>Whatever uses it is refused from now on.</p>
        {revoking ? <AsCodeButton wide recipe={() => revokeTokenRecipe(revoking)} /> : null}
      </ConfirmModal>
    </div>
  );
}
