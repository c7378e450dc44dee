/** Projects, with what they use of their quotas. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Menu, Progress } from "@mantine/core";
import { IconFolders, IconPlus } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { archiveProject, projectsQuery, restoreProject } from "@/api/projects";
import type { Project } from "@/api/types";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { bytes, count } from "@/components/format";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { Chip } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { MembersModal, ProjectModal } from "../components/project-dialogs";
import { shareOf } from "../project-form";
import classes from "./settings.module.css";

function Used({ label, used, most, show }: { label: string; used: number; most: number | null; show: (value: number) => string }) {
  const share = shareOf(used, most);
  return (
    <>
      {show(used)}
      {most === null ? (
        <span className="muted">
          {" "}
          <Trans>without limit</Trans>
        </span>
      ) : (
        t` of ${show(most)}`
      )}
      {share === undefined ? null : <Progress aria-label={label} value={share} size={4} color={share < 90 ? undefined : "red"} />}
    </>
  );
}

export function ProjectsPage() {
  const queryClient = useQueryClient();
  const refusal = useRefusal("administer");
  const { data, error, isPending, refetch } = useQuery(projectsQuery());
  /** Null: a new one; undefined: none. */
  const [editing, setEditing] = useState<Project | null | undefined>();
  const [members, setMembers] = useState<string | null>(null);
  const archive = async (project: Project) => {
    try {
      await (project.archived ? restoreProject(project.name) : archiveProject(project.name));
      await queryClient.invalidateQueries({ queryKey: keys.projects.all });
      notifyDone(project.archived ? t`${project.name} is restored` : t`${project.name} is archived: nothing new is made in it`);
    } catch (problem) {
      notifyProblem(problem, t`${project.name} stays as it is`);
    }
  };
  const columns: Column<Project>[] = [
    {
      id: "name",
      header: t`Name`,
      cell: (row) => (
        <>
          <b>{row.name}</b>{" "}
          {row.archived ? (
            <Chip tone="warn">
              <Trans>archived</Trans>
            </Chip>
          ) : null}
          {row.display_name ? <div className="secondary truncate">{row.display_name}</div> : null}
        </>
      ),
    },
    {
      id: "replicas",
      header: t`Replicas`,
      cell: (row) => <Used label={t`Replicas of ${row.name}`} used={row.used_replicas} most={row.max_replicas} show={count} />,
    },
    {
      id: "gpus",
      header: "GPUs",
      cell: (row) => <Used label={t`GPUs of ${row.name}`} used={row.used_gpus} most={row.max_gpus} show={count} />,
    },
    {
      id: "bytes",
      header: t`Models`,
      hideBelow: "sm",
      cell: (row) => <Used label={t`Models of ${row.name}`} used={row.used_bytes} most={row.max_bytes} show={bytes} />,
    },
    actionsColumn((row) =>
      refusal ? null : (
        <RowMenu of={row.name}>
          <Menu.Item onClick={() => setMembers(row.name)}>
            <Trans>Members</Trans>
          </Menu.Item>
          <Menu.Item onClick={() => setEditing(row)}>
            <Trans>Change</Trans>
          </Menu.Item>
          {row.name === "default" ? null : (
            <Menu.Item onClick={() => void archive(row)}>{row.archived ? t`Restore` : t`Archive`}</Menu.Item>
          )}
        </RowMenu>
      ),
    ),
  ];
  return (
    <div className={classes["wide"]}>
      <div className={toolbar["toolbar"]}>
        <RefusingButton needs="administer" leftSection={<IconPlus size={16} />} onClick={() => setEditing(null)}>
          <Trans>Add a project</Trans>
        </RefusingButton>
      </div>
      {error && !data ? (
        <LoadProblem error={error} what={t`The projects`} needs="read" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label={t`Projects`}
            choose="projects"
            columns={columns}
            rows={data?.items}
            rowKey={(row) => row.name}
            loading={isPending}
            empty={<EmptyState icon={<IconFolders size={30} stroke={1.4} />} title={t`You have a role in no project`} />}
          />
        </Card>
      )}
      {editing === undefined ? null : <ProjectModal project={editing} onClose={() => setEditing(undefined)} />}
      {members === null ? null : <MembersModal project={members} onClose={() => setMembers(null)} />}
    </div>
  );
}
