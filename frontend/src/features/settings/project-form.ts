/** The fields of a project's dialog, and what they send. */
import type { Project, ProjectChange } from "@/api/types";

const GIB = 2 ** 30;

/** Numbers as fields hold them: empty is no limit. */
export interface ProjectFields {
  name: string;
  displayName: string;
  replicas: number | string;
  gpus: number | string;
  gib: number | string;
}

export const fieldsOf = (project: Project | null): ProjectFields => ({
  name: project?.name ?? "",
  displayName: project?.display_name ?? "",
  replicas: project?.max_replicas ?? "",
  gpus: project?.max_gpus ?? "",
  gib: project?.max_bytes == null ? "" : project.max_bytes / GIB,
});

const limit = (value: number | string): number | null => (typeof value === "number" ? value : null);

export const changeOf = (fields: ProjectFields): ProjectChange & { display_name: string } => ({
  display_name: fields.displayName.trim(),
  max_replicas: limit(fields.replicas),
  max_gpus: limit(fields.gpus),
  max_bytes: typeof fields.gib === "number" ? Math.round(fields.gib * GIB) : null,
});

/** How much of its quota it has: undefined without one. */
export const shareOf = (used: number, most: number | null): number | undefined =>
  most === null ? undefined : most === 0 ? (used > 0 ? 100 : 0) : Math.min(100, Math.round((used / most) * 100));
