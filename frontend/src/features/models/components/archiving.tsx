/** What is archived, is hidden from lists and brought back again. */
import { t } from "@lingui/core/macro";
import { Menu, Select } from "@mantine/core";
import { IconArchive, IconArchiveOff } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useRefusal } from "@/api/permissions";
import { notifyDone, notifyProblem } from "@/components/notify";

/** Absent: without what is archived. */
export type Archived = "archived" | "all" | undefined;

export function ArchivedSelect({ value, onChange }: { value: Archived; onChange: (value: Archived) => void }) {
  return (
    <Select
      aria-label={t`Archived`}
      w={150}
      allowDeselect={false}
      value={value ?? "active"}
      data={[
        { value: "active", label: t`Without archived` },
        { value: "archived", label: t`Archived only` },
        { value: "all", label: t`With archived` },
      ]}
      onChange={(chosen) => onChange(chosen === "archived" || chosen === "all" ? chosen : undefined)}
    />
  );
}

interface ArchiveItemProps {
  /** As in "version 2". */
  what: string;
  /** What the item calls it, where that is something else. */
  label?: string;
  archived: boolean;
  archive: () => Promise<unknown>;
  restore: () => Promise<unknown>;
  /** Before anybody is told that it is done. */
  onDone: () => Promise<unknown>;
}

export function ArchiveItem({ what, label = what, archived, archive, restore, onDone }: ArchiveItemProps) {
  const refusal = useRefusal("deploy");
  const change = useMutation({
    // As it was when it was asked for: the page may hear of the change before the answer comes.
    mutationFn: (was: boolean) => (was ? restore : archive)(),
    onSuccess: async (_, was) => {
      await onDone();
      notifyDone(was ? t`${what} is back` : t`${what} is archived`);
    },
    onError: (error, was) => notifyProblem(error, was ? t`${what} could not be restored` : t`${what} could not be archived`),
  });
  return (
    <Menu.Item
      leftSection={archived ? <IconArchiveOff size={16} /> : <IconArchive size={16} />}
      disabled={refusal !== undefined}
      onClick={() => change.mutate(archived)}
    >
      {archived ? t`Restore ${label}` : t`Archive ${label}`}
    </Menu.Item>
  );
}
