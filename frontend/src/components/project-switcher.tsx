/** Which project the lists show, and where uploads go. Where there is but one, there is nothing to choose. */
import { t } from "@lingui/core/macro";
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { projectsQuery } from "@/api/projects";
import { chooseProject, useChosenProject } from "./chosen-project";

export function ProjectSwitcher({ label = t`Project` }: { label?: string }) {
  const chosen = useChosenProject();
  const names = useQuery(projectsQuery()).data?.items.map((project) => project.name);
  const gone = names !== undefined && chosen !== "" && !names.includes(chosen);
  // It was chosen by somebody else in this browser, or one has no role in it any more.
  useEffect(() => {
    if (gone) chooseProject("");
  }, [gone]);
  if (names === undefined || names.length < 2) return null;
  return (
    <Select
      aria-label={label}
      placeholder={t`All projects`}
      w={170}
      clearable
      value={chosen || null}
      data={names}
      onChange={(name) => chooseProject(name ?? "")}
    />
  );
}
