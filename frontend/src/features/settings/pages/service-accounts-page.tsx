/** Programs that call: each with a role, and tokens that end. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Menu } from "@mantine/core";
import { IconPlus, IconRobot } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { deleteServiceAccount, serviceAccountsQuery } from "@/api/service-accounts";
import type { ServiceAccount } from "@/api/types";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Forbidden, LoadProblem } from "@/components/forbidden";
import { notifyDone } from "@/components/notify";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { AddServiceAccountModal, RotateModal } from "../components/service-account-dialogs";
import { tokenEnd } from "../token-choices";
import classes from "./settings.module.css";

function TokenEnd({ at }: { at: string | null }) {
  if (tokenEnd(at) !== "soon") return <Time at={at} />;
  return (
    <Chip tone="warn">
      <Time at={at} />
    </Chip>
  );
}

function Tokens({ account }: { account: ServiceAccount }) {
  if (account.tokens.length === 0)
    return (
      <Chip tone="error">
        <Trans>none that works</Trans>
      </Chip>
    );
  return (
    <>
      {account.tokens.map((token) => (
        <div key={token.prefix}>
          <Trans>
            <span className="mono">{token.prefix}…</span> ends <TokenEnd at={token.expires_at} />
          </Trans>
        </div>
      ))}
    </>
  );
}

const lastUsed = (account: ServiceAccount): string | null =>
  account.tokens
    .flatMap((token) => token.last_used_at ?? [])
    .sort()
    .at(-1) ?? null;

export function ServiceAccountsPage() {
  const queryClient = useQueryClient();
  const refusal = useRefusal("administer");
  const { data, error, isPending, refetch } = useQuery({ ...serviceAccountsQuery(), enabled: refusal === undefined });
  const [adding, setAdding] = useState(false);
  const [rotating, setRotating] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  if (refusal) return <Forbidden needs="administer" what={t`The service accounts`} />;
  const columns: Column<ServiceAccount>[] = [
    { id: "name", header: t`Name`, cell: (row) => <b>{row.name}</b> },
    { id: "role", header: t`Role`, cell: (row) => row.role },
    { id: "tokens", header: t`Tokens`, cell: (row) => <Tokens account={row} /> },
    {
      id: "used",
      header: t`Last used`,
      hideBelow: "sm",
      cell: (row) =>
        lastUsed(row) ? (
          <Time at={lastUsed(row)} />
        ) : (
          <span className="muted">
            <Trans>never</Trans>
          </span>
        ),
    },
    actionsColumn((row) => (
      <RowMenu of={row.name}>
        <Menu.Item onClick={() => setRotating(row.name)}>
          <Trans>Fresh token</Trans>
        </Menu.Item>
        <Menu.Item onClick={() => setLeaving(row.name)}>
          <Trans>Delete</Trans>
        </Menu.Item>
      </RowMenu>
    )),
  ];
  return (
    <div className={classes["wide"]}>
      <div className={toolbar["toolbar"]}>
        <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
          <Trans>Add a service account</Trans>
        </Button>
      </div>
      {error && !data ? (
        <LoadProblem error={error} what={t`The service accounts`} needs="administer" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label={t`Service accounts`}
            choose="service-accounts"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => row.name}
            loading={isPending}
            empty={
              <EmptyState
                icon={<IconRobot size={30} stroke={1.4} />}
                title={t`No service accounts yet`}
                detail={t`They are for programs: a role of their own, and tokens that end.`}
              />
            }
          />
        </Card>
      )}
      <AddServiceAccountModal opened={adding} onClose={() => setAdding(false)} />
      <RotateModal name={rotating} onClose={() => setRotating(null)} />
      <ConfirmModal
        opened={leaving !== null}
        onClose={() => setLeaving(null)}
        title={t`Delete ${leaving ?? ""}`}
        confirmLabel={t`Delete ${leaving ?? ""}`}
        danger
        onConfirm={async () => {
          if (leaving === null) return;
          await deleteServiceAccount(leaving);
          await queryClient.invalidateQueries({ queryKey: keys.serviceAccounts });
          notifyDone(t`${leaving} is deleted`);
        }}
      >
        <p>
          <Trans>
            Whatever uses its tokens is refused from now on. The name is not given again, since the event log goes on naming it.
          </Trans>
        </p>
      </ConfirmModal>
    </div>
  );
}
