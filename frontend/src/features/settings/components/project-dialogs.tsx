/** A project made or changed, and its members. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Autocomplete, Button, Modal, NumberInput, Select, TextInput } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { createProject, membersQuery, removeMember, setMember, updateProject } from "@/api/projects";
import type { Member, Project, ProjectRole } from "@/api/types";
import { usersQuery } from "@/api/users";
import { actionsColumn } from "@/components/actions-column";
import { AsCodeButton } from "@/components/as-code";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { changeOf, fieldsOf, type ProjectFields } from "../project-form";
import classes from "../pages/settings.module.css";
import { memberRecipe, projectRecipe } from "../recipes";
import { PROJECT_ROLE_CHOICES } from "../role-descriptions";

/** Null: a new one. */
export function ProjectModal({ project, onClose }: { project: Project | null; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [fields, setFields] = useState<ProjectFields>(() => fieldsOf(project));
  const set = <Key extends keyof ProjectFields>(key: Key, value: ProjectFields[Key]) => setFields((old) => ({ ...old, [key]: value }));
  const name = fields.name.trim();
  const save = useMutation({
    mutationFn: () => (project ? updateProject(project.name, changeOf(fields)) : createProject({ name, ...changeOf(fields) })),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.projects.all });
      onClose();
    },
  });
  const limit = (key: "replicas" | "gpus" | "gib", label: string) => (
    <NumberInput
      label={label}
      placeholder={t`no limit`}
      min={0}
      allowDecimal={key === "gib"}
      allowNegative={false}
      value={fields[key]}
      onChange={(value) => set(key, value)}
    />
  );
  return (
    <Modal
      opened
      onClose={onClose}
      size={520}
      title={project ? t`Change ${project.name}` : t`Add a project`}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      <form
        className={classes["tall"]}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput
          label={t`Name`}
          description={t`3 to 32 letters, digits and hyphens; it stays`}
          disabled={project !== null}
          data-autofocus
          value={fields.name}
          onChange={(event) => set("name", event.currentTarget.value)}
        />
        <TextInput
          label={t`What people call it`}
          value={fields.displayName}
          onChange={(event) => set("displayName", event.currentTarget.value)}
        />
        <div className={classes["columns"]}>
          {limit("replicas", t`Replicas at most`)}
          {limit("gpus", t`GPUs at most`)}
          {limit("gib", t`Models at most, GiB`)}
        </div>
        {save.error ? <ProblemCard error={save.error} title={t`It could not be saved`} /> : null}
        <div className={classes["actions"]}>
          <AsCodeButton recipe={() => projectRecipe(name || "NAME", changeOf(fields), project !== null)} />
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" disabled={name === ""} loading={save.isPending}>
            {project ? t`Save` : name ? t`Add ${name}` : t`Add it`}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

export function MembersModal({ project, onClose }: { project: string; onClose: () => void }) {
  const queryClient = useQueryClient();
  const { data, error, isPending } = useQuery(membersQuery(project));
  const people = useQuery(usersQuery("")).data?.items.map((person) => person.username);
  const [name, setName] = useState("");
  const [role, setRole] = useState<ProjectRole>("viewer");
  const again = () => queryClient.invalidateQueries({ queryKey: keys.projects.members(project) });
  const change = useMutation({
    mutationFn: (member: { username: string; role: ProjectRole }) => setMember(project, member.username, member.role),
    onSuccess: async () => {
      setName("");
      await again();
    },
  });
  const remove = useMutation({
    mutationFn: (username: string) => removeMember(project, username),
    onSuccess: again,
    onError: (problem, username) => notifyProblem(problem, t`${username} stays a member`),
  });
  const columns: Column<Member>[] = [
    { id: "name", header: t`Name`, cell: (row) => <b>{row.username}</b> },
    {
      id: "role",
      header: t`Role in the project`,
      cell: (row) => (
        <Select
          aria-label={t`Role of ${row.username} in ${project}`}
          w={130}
          allowDeselect={false}
          data={PROJECT_ROLE_CHOICES}
          value={row.role}
          onChange={(value) => (value && value !== row.role ? change.mutate({ username: row.username, role: value }) : undefined)}
        />
      ),
    },
    actionsColumn((row) => (
      <ActionIcon aria-label={t`Take the role of ${row.username} away`} onClick={() => remove.mutate(row.username)}>
        <IconTrash size={16} />
      </ActionIcon>
    )),
  ];
  return (
    <Modal opened onClose={onClose} size={560} title={t`Members of ${project}`} closeButtonProps={{ "aria-label": t`Close` }}>
      <div className={classes["tall"]}>
        <form
          className={classes["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            change.mutate({ username: name.trim(), role });
          }}
        >
          <Autocomplete label={t`User or service account`} data-autofocus data={people ?? []} value={name} onChange={setName} />
          <Select
            label={t`Role`}
            w={130}
            allowDeselect={false}
            data={PROJECT_ROLE_CHOICES}
            value={role}
            onChange={(value) => setRole(value ?? "viewer")}
          />
          <Button type="submit" disabled={name.trim() === ""} loading={change.isPending}>
            <Trans>Add</Trans>
          </Button>
          <AsCodeButton recipe={() => memberRecipe(project, name.trim() || "NAME", role)} />
        </form>
        {change.error ? <ProblemCard error={change.error} title={t`The role stays as it was`} /> : null}
        {error ? (
          <ProblemCard error={error} title={t`The members could not be loaded`} />
        ) : (
          <DataTable
            label={t`Members of ${project}`}
            columns={columns}
            rows={data?.items}
            rowKey={(row) => row.username}
            loading={isPending}
            empty={<EmptyState title={t`No members yet`} detail={t`Who has a role in the installation has it in this project, too.`} />}
          />
        )}
      </div>
    </Modal>
  );
}
