/** Personal tokens for the command line, the SDK and CI. */
import { Button, TextInput } from "@mantine/core";
import { IconKey, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { createToken, deleteToken, tokensQuery } from "@/api/session";
import type { ApiToken } from "@/api/types";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { CopyField } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Time } from "@/components/time";
import classes from "./settings.module.css";

export function TokensPage() {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(tokensQuery());
  const [name, setName] = useState("");
  const [revoking, setRevoking] = useState<ApiToken | null>(null);
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.tokens });
  const create = useMutation({
    mutationFn: () => createToken(name.trim()),
    onSuccess: async () => {
      setName("");
      await refresh();
    },
  });
  const columns: Column<ApiToken>[] = [
    { id: "name", header: "Name", cell: (row) => <b>{row.name}</b> },
    { id: "prefix", header: "Begins with", cell: (row) => <span className="mono">{row.prefix}…</span> },
    { id: "created", header: "Made", cell: (row) => <Time at={row.created_at} /> },
    { id: "used", header: "Last used", cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} /> : <span className="muted">never</span>) },
    {
      id: "revoke",
      header: <span className="sr-only">Revoke</span>,
      align: "right",
      cell: (row) => (
        <Button variant="default" leftSection={<IconTrash size={15} />} onClick={() => setRevoking(row)}>
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <div className={classes["stack"]}>
      <Card title="New token" hint="has your own rights">
        <form
          className={classes["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <TextInput
            label="Name"
            placeholder="ci"
            w={260}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" leftSection={<IconKey size={15} />} disabled={name.trim() === ""} loading={create.isPending}>
            Make a token
          </Button>
        </form>
        {create.error ? <ProblemCard error={create.error} title="The token could not be made" /> : null}
        {create.data ? (
          <div className={classes["secret"]} role="status">
            <p>
              <b>{create.data.name}</b> is shown only now. Copy it to where it is needed.
            </p>
            <CopyField text={create.data.token} label="token" />
          </div>
        ) : null}
      </Card>
      {error ? (
        <ProblemCard error={error} title="The tokens could not be loaded" onRetry={() => void refetch()} />
      ) : (
        <Card title="Tokens" flush>
          <DataTable
            label="Tokens"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => String(row.id)}
            loading={isPending}
            empty={<EmptyState title="No tokens yet" detail="The command line on this machine signs in by itself; tokens are for other places." />}
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
          await refresh();
          notifyDone(`${revoking.name} is revoked`);
        }}
      >
        <p>Whatever uses it is refused from now on.</p>
      </ConfirmModal>
    </div>
  );
}
