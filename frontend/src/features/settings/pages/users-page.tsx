/** Who may use this installation, and as what. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Menu, Select } from "@mantine/core";
import { IconPlus, IconUsers } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { sessionQuery } from "@/api/session";
import type { Person, Role } from "@/api/types";
import { resetSecondFactor, updateUser, usersQuery } from "@/api/users";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { AsCodeButton, asCodeWords, showAsCode } from "@/components/as-code";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Forbidden, LoadProblem } from "@/components/forbidden";
import { ListFilter } from "@/components/list-filter";
import { notifyDone, notifyProblem } from "@/components/notify";
import { Chip, Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { AddUserModal, ResetPasswordModal } from "../components/user-dialogs";
import { activeRecipe, roleRecipe, secondFactorRecipe } from "../recipes";
import { isKeptElsewhere, ROLE_CHOICES, signInWords } from "../role-descriptions";
import classes from "./settings.module.css";

function RoleSelect({ person, onChange }: { person: Person; onChange: (role: Role) => void }) {
  return (
    <Select
      aria-label={t`Role of ${person.username}`}
      data={ROLE_CHOICES}
      value={person.role}
      w={120}
      disabled={!person.active || isKeptElsewhere(person.sign_in)}
      onChange={(value) => (value && value !== person.role ? onChange(value as Role) : undefined)}
    />
  );
}

export function UsersPage() {
  const { q = "" } = useSearch({ from: "/app/settings/users" });
  const navigate = useNavigate({ from: "/settings/users" });
  const refusal = useRefusal("administer");
  const { data, error, isPending, refetch } = useQuery({ ...usersQuery(q), enabled: refusal === undefined });
  const me = useQuery(sessionQuery()).data?.user?.username;
  const queryClient = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [resetting, setResetting] = useState<Person | null>(null);
  const [losing, setLosing] = useState<Person | null>(null);
  const [leaving, setLeaving] = useState<Person | null>(null);
  const change = useMutation({
    mutationFn: ({ person, ...values }: { person: Person; role?: Role; active?: boolean }) => updateUser(person.username, values),
    onSuccess: async (person) => {
      await queryClient.invalidateQueries({ queryKey: keys.users.all });
      notifyDone(person.active ? t`${person.username} is ${person.role}` : t`${person.username} is deactivated`);
    },
  });
  const setRole = (person: Person, role: Role) =>
    change.mutate({ person, role }, { onError: (problem) => notifyProblem(problem, t`${person.username} stays ${person.role}`) });
  if (refusal) return <Forbidden needs="administer" what={t`The users`} />;
  const columns: Column<Person>[] = [
    {
      id: "name",
      header: t`Name`,
      cell: (row) => (
        <>
          <b>{row.username}</b>{" "}
          {row.username === me ? (
            <Chip>
              <Trans>you</Trans>
            </Chip>
          ) : null}
        </>
      ),
    },
    { id: "role", header: t`Role`, width: 130, cell: (row) => <RoleSelect person={row} onChange={(role) => setRole(row, role)} /> },
    {
      id: "state",
      header: t`Status`,
      hideBelow: "sm",
      cell: (row) => <Status plain state={row.active ? t`active` : t`deactivated`} tone={row.active ? "ok" : "idle"} />,
    },
    {
      id: "seen",
      header: t`Last seen`,
      hideBelow: "sm",
      cell: (row) =>
        row.last_seen_at ? (
          <Time at={row.last_seen_at} />
        ) : (
          <span className="muted">
            <Trans>never</Trans>
          </span>
        ),
    },
    {
      id: "sign-in",
      header: t`Signs in by`,
      hideBelow: "md",
      cell: (row) => `${signInWords(row.sign_in)}${row.second_factor ? t` and code` : ""}`,
    },
    { id: "tokens", header: t`Tokens`, align: "right", hideBelow: "md", cell: (row) => row.token_count },
    { id: "since", header: t`Since`, hideBelow: "md", cell: (row) => <Time at={row.created_at} /> },
    actionsColumn((row) => (
      <RowMenu of={row.username}>
        {isKeptElsewhere(row.sign_in) ? null : (
          <Menu.Item onClick={() => setResetting(row)}>
            <Trans>New password</Trans>
          </Menu.Item>
        )}
        {row.second_factor && row.username !== me ? (
          <Menu.Item onClick={() => setLosing(row)}>
            <Trans>Reset second factor</Trans>
          </Menu.Item>
        ) : null}
        <Menu.Item onClick={() => showAsCode(roleRecipe(row.username, row.role))}>
          {asCodeWords(roleRecipe(row.username, row.role), (forms) => t`Show the role as ${forms}`)}
        </Menu.Item>
        {row.active ? (
          <Menu.Item onClick={() => setLeaving(row)}>
            <Trans>Deactivate</Trans>
          </Menu.Item>
        ) : (
          <Menu.Item onClick={() => change.mutate({ person: row, active: true })}>
            <Trans>Activate</Trans>
          </Menu.Item>
        )}
      </RowMenu>
    )),
  ];
  return (
    <div className={classes["wide"]}>
      <div className={toolbar["toolbar"]}>
        <ListFilter
          label={t`Filter users`}
          value={q}
          onChange={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
        />
        <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
          <Trans>Add somebody</Trans>
        </Button>
      </div>
      {error && !data ? (
        <LoadProblem error={error} what={t`The users`} needs="administer" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label={t`Users`}
            choose="users"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => row.username}
            loading={isPending}
            empty={<EmptyState icon={<IconUsers size={30} stroke={1.4} />} title={t`Nobody of that name`} />}
          />
        </Card>
      )}
      <AddUserModal opened={adding} onClose={() => setAdding(false)} />
      <ResetPasswordModal person={resetting} onClose={() => setResetting(null)} />
      <ConfirmModal
        opened={losing !== null}
        onClose={() => setLosing(null)}
        title={t`Reset the second factor of ${losing?.username ?? ""}`}
        confirmLabel={t`Reset it`}
        danger
        onConfirm={async () => {
          if (!losing) return;
          await resetSecondFactor(losing.username);
          await queryClient.invalidateQueries({ queryKey: keys.users.all });
          notifyDone(t`Signing in as ${losing.username} asks for no code any more`);
        }}
      >
        <p>
          <Trans>
            For somebody whose app and recovery codes are gone. Their browsers are signed out, and the password alone signs in then.
          </Trans>
        </p>
        {losing ? <AsCodeButton wide recipe={() => secondFactorRecipe(losing.username)} /> : null}
      </ConfirmModal>
      <ConfirmModal
        opened={leaving !== null}
        onClose={() => setLeaving(null)}
        title={t`Deactivate ${leaving?.username ?? ""}`}
        confirmLabel={t`Deactivate ${leaving?.username ?? ""}`}
        danger
        onConfirm={async () => {
          if (leaving) await change.mutateAsync({ person: leaving, active: false });
        }}
      >
        <p>
          <Trans>
            Sessions end and API tokens are revoked at once. What {leaving?.username} made stays, and the account can be activated again.
          </Trans>
        </p>
        {leaving ? <AsCodeButton wide recipe={() => activeRecipe(leaving.username, false)} /> : null}
      </ConfirmModal>
    </div>
  );
}
