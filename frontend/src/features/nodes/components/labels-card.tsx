/** A node's labels, which deployments may ask for. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { setLabels } from "@/api/nodes";
import { useRefusal } from "@/api/permissions";
import type { NodeItem } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { badLabel, labelsOf, labelText } from "@/components/labels";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Chip } from "@/components/status";

import { labelsRecipe } from "../recipes";
import classes from "../pages/node-page.module.css";

export function LabelsCard({ node }: { node: NodeItem }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("operate");
  const [text, setText] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (labels: Record<string, string>) => setLabels(node.name, labels),
    onSuccess: async () => {
      setText(null);
      await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
      notifyDone(t`The labels of ${node.name} are saved`);
    },
  });
  const bad = text === null ? null : badLabel(text);
  const names = Object.entries(node.labels);
  return (
    <Card
      title={t`Labels`}
      actions={
        text === null ? (
          <Button variant="default" disabled={refusal !== undefined} title={refusal} onClick={() => setText(labelText(node.labels))}>
            <Trans>Change</Trans>
          </Button>
        ) : null
      }
    >
      {text === null ? (
        <div className={classes["chips"]}>
          {names.map(([key, value]) => (
            <Chip key={key} mono>{`${key}=${value}`}</Chip>
          ))}
          {names.length === 0 ? (
            <span className="muted">
              <Trans>None. Deployments can ask for nodes by their labels.</Trans>
            </span>
          ) : null}
        </div>
      ) : (
        <form
          className={classes["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate(labelsOf(text));
          }}
        >
          <TextInput
            aria-label={t`Labels`}
            placeholder="zone=a, disk=fast"
            value={text}
            error={bad ? t`${bad}: expected key=value` : undefined}
            data-autofocus
            onChange={(event) => setText(event.currentTarget.value)}
          />
          {save.error ? <ProblemCard error={save.error} title={t`The labels were not saved`} /> : null}
          <div className={classes["chips"]}>
            <Button type="submit" disabled={bad !== null} loading={save.isPending}>
              <Trans>Save</Trans>
            </Button>
            <Button variant="default" onClick={() => setText(null)}>
              <Trans>Cancel</Trans>
            </Button>
            <AsCodeButton recipe={() => labelsRecipe(node.name, bad === null ? labelsOf(text) : {})} />
          </div>
        </form>
      )}
    </Card>
  );
}
