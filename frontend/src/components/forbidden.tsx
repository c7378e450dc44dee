/** A page, or a part of one, that this person's role does not show: says which role does. */
import { t } from "@lingui/core/macro";
import { IconLock } from "@tabler/icons-react";
import { refusalText } from "@/api/permissions";
import { toProblem } from "@/api/problem";
import type { Permission } from "@/api/types";
import { EmptyState } from "./empty-state";
import { ProblemCard } from "./problem-card";

export function Forbidden({ needs, what }: { needs: Permission; what: string }) {
  return (
    <EmptyState
      icon={<IconLock size={30} stroke={1.4} />}
      title={t`${what} cannot be shown to you`}
      detail={t`${refusalText(needs)}. An administrator can change roles under Settings, Users.`}
    />
  );
}

export interface LoadProblemProps {
  error: unknown;
  /** "The users". */
  what: string;
  needs: Permission;
  onRetry: () => void;
}

/** What stands in place of something that could not be loaded, whether it failed or was refused. */
export function LoadProblem({ error, what, needs, onRetry }: LoadProblemProps) {
  if (toProblem(error).status === 403) return <Forbidden needs={needs} what={what} />;
  return <ProblemCard error={error} title={t`${what} could not be loaded`} onRetry={onRetry} />;
}
