/** The kinds of machine that deployments can ask for. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Menu } from "@mantine/core";
import { IconCpu, IconPlus } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteInstanceType, instanceTypesQuery } from "@/api/installation";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { InstanceType } from "@/api/types";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { bytes } from "@/components/format";
import { notifyDone } from "@/components/notify";
import { RoleNote } from "@/components/role-note";
import { Chip } from "@/components/status";
import { InstanceTypeModal } from "../components/instance-type-modal";
import classes from "./settings.module.css";

function needs(type: InstanceType): string {
  const gpu =
    type.gpu_count > 0
      ? `${type.gpu_count} × ${type.gpu_model || "GPU"}${type.gpu_memory_bytes ? `, ${bytes(type.gpu_memory_bytes)}` : ""}`
      : "";
  const node = [
    type.cpu_count > 0 ? plural(type.cpu_count, { one: "# core", other: "# cores" }) : "",
    type.memory_bytes > 0 ? bytes(type.memory_bytes) : "",
  ];
  return [gpu, ...node].filter(Boolean).join(" · ") || t`any node`;
}

const COLUMNS: Column<InstanceType>[] = [
  {
    id: "name",
    header: t`Name`,
    cell: (row) => (
      <>
        <b>{row.name}</b>
        {row.description ? <div className="secondary">{row.description}</div> : null}
      </>
    ),
  },
  {
    id: "needs",
    header: t`Asks for`,
    cell: (row) => `${needs(row)}${row.gpu_count > 0 && row.gpu_policy === "preferred" ? t`, or processors` : ""}`,
  },
  {
    id: "aliases",
    header: t`Other names`,
    hideBelow: "md",
    cell: (row) => (
      <span className={classes["chips"]} title={row.aliases.join(", ")}>
        {row.aliases.length === 0 ? <span className="muted">–</span> : null}
        {row.aliases.slice(0, 2).map((alias) => (
          <Chip key={alias} mono>
            {alias}
          </Chip>
        ))}
        {row.aliases.length > 2 ? <span className="muted">{t`and ${row.aliases.length - 2} more`}</span> : null}
      </span>
    ),
  },
  {
    id: "nodes",
    header: t`Fits now on`,
    hideBelow: "sm",
    cell: (row) =>
      row.nodes.length > 0 ? (
        <span title={row.nodes.join(", ")}>
          {row.nodes.slice(0, 2).join(", ")}
          {row.nodes.length > 2 ? t` and ${row.nodes.length - 2} more` : ""}
        </span>
      ) : (
        <Chip tone="warn">
          <Trans>no node</Trans>
        </Chip>
      ),
  },
  { id: "used", header: t`Deployments`, align: "right", width: 96, hideBelow: "sm", cell: (row) => row.used_by },
];

export function InstanceTypesPage() {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(instanceTypesQuery());
  const refusal = useRefusal("administer");
  // Undefined: no form is open. Null: the form of a new one.
  const [editing, setEditing] = useState<InstanceType | null | undefined>(undefined);
  const [removing, setRemoving] = useState<InstanceType | null>(null);
  const menu: Column<InstanceType> = actionsColumn((row) => (
    <RowMenu of={row.name}>
      <Menu.Item onClick={() => setEditing(row)}>
        <Trans>Change</Trans>
      </Menu.Item>
      <Menu.Item onClick={() => setRemoving(row)}>
        <Trans>Remove</Trans>
      </Menu.Item>
    </RowMenu>
  ));
  if (error && !data) return <LoadProblem error={error} what={t`The instance types`} needs="read" onRetry={() => void refetch()} />;
  return (
    <div className={classes["wide"]}>
      <RoleNote needs="administer" to={t`make, change or remove instance types`} />
      <Card
        title={t`Instance types`}
        hint={t`names for what a deployment asks of a node`}
        flush
        actions={
          <Button leftSection={<IconPlus size={16} />} disabled={refusal !== undefined} title={refusal} onClick={() => setEditing(null)}>
            <Trans>New instance type</Trans>
          </Button>
        }
      >
        <DataTable
          label={t`Instance types`}
          columns={refusal ? COLUMNS : [...COLUMNS, menu]}
          rows={data?.items}
          rowKey={(row) => row.name}
          loading={isPending}
          empty={
            <EmptyState
              icon={<IconCpu size={30} stroke={1.4} />}
              title={t`No instance types yet`}
              detail={t`Deployments then go to any node with room.`}
            />
          }
        />
      </Card>
      {editing !== undefined ? <InstanceTypeModal key={editing?.name ?? ""} type={editing} onClose={() => setEditing(undefined)} /> : null}
      <ConfirmModal
        opened={removing !== null}
        onClose={() => setRemoving(null)}
        title={t`Remove ${removing?.name ?? ""}`}
        confirmLabel={t`Remove ${removing?.name ?? ""}`}
        danger
        onConfirm={async () => {
          if (!removing) return;
          await deleteInstanceType(removing.name);
          await queryClient.invalidateQueries({ queryKey: keys.instanceTypes });
          notifyDone(t`${removing.name} is removed`);
        }}
      >
        <p>
          <Trans>Deployments can no longer ask for it.</Trans>
        </p>
      </ConfirmModal>
    </div>
  );
}
