/** Names for this version: set, moved here from another, or taken away. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Popover, TextInput } from "@mantine/core";
import { IconAt, IconPlus, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { deleteAlias, setAlias } from "@/api/models";
import { useRefusal } from "@/api/permissions";
import { problemText } from "@/api/problem";
import type { Model, ModelVersion } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { notifyDone, notifyProblem } from "@/components/notify";
import { Chip } from "@/components/status";
import { aliasRecipe } from "../recipes";
import classes from "../models.module.css";

export function Aliases({ model, version }: { model: Model; version: ModelVersion }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.models.all });
  const set = useMutation({
    mutationFn: (alias: string) => setAlias(model.name, alias, version.version),
    onSuccess: async (_, alias) => {
      setAdding(false);
      setName("");
      notifyDone(t`@${alias} is now version ${version.version}`);
      await refresh();
    },
  });
  const remove = useMutation({
    mutationFn: (alias: string) => deleteAlias(model.name, alias),
    onSuccess: async (_, alias) => {
      notifyDone(t`@${alias} is gone`);
      await refresh();
    },
    onError: (error, alias) => notifyProblem(error, t`@${alias} could not be removed`),
  });
  const typed = name.trim().replace(/^@/, "");
  const elsewhere = model.aliases;
  const moves = Object.entries(elsewhere).filter(([, at]) => at !== version.version);
  const before = elsewhere[typed];
  return (
    <>
      {version.version === model.latest_version && !version.archived ? (
        <Chip tone="info">
          <Trans>@latest</Trans>
        </Chip>
      ) : null}
      {version.aliases.map((alias) => (
        <span key={alias} className={classes["alias"]}>
          <IconAt size={13} aria-hidden />
          {alias}
          <ActionIcon
            size={22}
            aria-label={t`Remove the alias ${alias}`}
            title={refusal}
            disabled={refusal !== undefined}
            onClick={() => remove.mutate(alias)}
          >
            <IconX size={13} />
          </ActionIcon>
        </span>
      ))}
      <Popover opened={adding} onChange={setAdding} position="bottom-start" width={280} trapFocus>
        <Popover.Target>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            leftSection={<IconPlus size={13} aria-hidden />}
            title={refusal}
            disabled={refusal !== undefined}
            onClick={() => setAdding((old) => !old)}
          >
            <Trans>Alias</Trans>
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t`Set an alias`}>
          <form
            className={classes["popover"]}
            onSubmit={(event) => {
              event.preventDefault();
              if (typed) set.mutate(typed);
            }}
          >
            <TextInput
              label={t`Alias for version ${version.version}`}
              placeholder="champion"
              description={before !== undefined && before !== version.version ? t`moves from version ${before}` : undefined}
              value={name}
              error={set.error ? problemText(set.error) : undefined}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            {moves.length > 0 ? (
              <div className={classes["chips"]}>
                {moves.map(([alias, at]) => (
                  <Button key={alias} size="compact-xs" variant="default" onClick={() => set.mutate(alias)}>
                    <Trans>
                      Move @{alias} here (from {at})
                    </Trans>
                  </Button>
                ))}
              </div>
            ) : null}
            <div className={classes["chips"]}>
              <Button type="submit" loading={set.isPending} disabled={typed === ""}>
                {before !== undefined && before !== version.version ? t`Move` : t`Set`}
              </Button>
              <AsCodeButton recipe={() => aliasRecipe(model.name, version.version, typed || "champion")} />
            </div>
          </form>
        </Popover.Dropdown>
      </Popover>
    </>
  );
}
