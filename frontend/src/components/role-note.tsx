/** Why what follows cannot be changed, in a line that is read without hovering over a button that is off. */
import { Trans } from "@lingui/react/macro";
import { IconLock } from "@tabler/icons-react";
import { useRefusal } from "@/api/permissions";
import type { Permission } from "@/api/types";
import classes from "./role-note.module.css";

export interface RoleNoteProps {
  needs: Permission;
  /** What the person may not do, after "Needs the role deployer or a higher one to": "move traffic". */
  to: string;
}

export function RoleNote({ needs, to }: RoleNoteProps) {
  const refusal = useRefusal(needs);
  if (refusal === undefined) return null;
  return (
    <p className={classes["note"]}>
      <IconLock size={14} aria-hidden />
      <Trans>
        {refusal} to {to}.
      </Trans>
    </p>
  );
}
