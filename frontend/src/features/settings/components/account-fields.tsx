/** The name and the role of a new account, of a person or of a service. */
import { t } from "@lingui/core/macro";
import { Select, TextInput } from "@mantine/core";
import type { Role } from "@/api/types";
import { ROLE_CHOICES, roleDescription } from "../role-descriptions";

interface Props {
  label: string;
  name: string;
  role: Role;
  onName: (name: string) => void;
  onRole: (role: Role) => void;
}

export function AccountFields({ label, name, role, onName, onRole }: Props) {
  return (
    <>
      <TextInput
        label={label}
        description={t`Letters, digits and @ . + - _`}
        autoComplete="off"
        data-autofocus
        value={name}
        onChange={(event) => onName(event.currentTarget.value)}
      />
      <Select
        label={t`Role`}
        description={roleDescription(role)}
        data={ROLE_CHOICES}
        value={role}
        onChange={(value) => onRole((value ?? "viewer") as Role)}
      />
    </>
  );
}
