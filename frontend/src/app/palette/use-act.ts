/** Doing what was chosen. Dialogs are handed to `onDialog`; what needs no question is done at once. */
import { t } from "@lingui/core/macro";
import { useMantineColorScheme } from "@mantine/core";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { keys } from "@/api/keys";
import { cordonNode, uncordonNode } from "@/api/nodes";
import { cancelOperation } from "@/api/operations";
import { keyHelp } from "@/app/layouts/toggles";
import { useLeave } from "@/app/layouts/use-leave";
import { writeClipboard } from "@/components/copy";
import { notifyDone, notifyProblem } from "@/components/notify";
import type { Act, DialogAct } from "./act";

/** Tells how it went; what failed stays until it is closed. */
async function told(work: () => Promise<unknown>, done: string, failed: string): Promise<void> {
  try {
    await work();
    notifyDone(done);
  } catch (error) {
    notifyProblem(error, failed);
  }
}

const copy = (text: string, what: string) => told(() => writeClipboard(text), t`${what} is copied`, t`${what} could not be copied`);

const cordon = (client: QueryClient, node: string, cordoned: boolean) =>
  told(
    async () => {
      await (cordoned ? uncordonNode(node) : cordonNode(node));
      await client.invalidateQueries({ queryKey: keys.nodes.all });
    },
    cordoned ? t`${node} takes new replicas again` : t`${node} takes nothing new`,
    t`${node} could not be changed`,
  );

const cancel = (client: QueryClient, operation: string, title: string) =>
  told(
    async () => {
      await cancelOperation(operation);
      await client.invalidateQueries({ queryKey: keys.operations.all });
    },
    t`${title}: is being canceled`,
    t`${title} could not be canceled`,
  );

async function start(client: QueryClient, endpoint: string, deployment: string): Promise<void> {
  const { startNow } = await import("@/features/endpoints/components/deployment-dialogs");
  await startNow(client, endpoint, deployment);
}

export function useAct(onDialog: (ask: DialogAct) => void): (act: Act) => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  const leave = useLeave();
  const { toggleColorScheme } = useMantineColorScheme();
  return (act) => {
    switch (act.kind) {
      case "go":
        return void navigate(act.link);
      case "copy":
        return void copy(act.text, act.what);
      case "dialog":
        return onDialog(act.ask);
      case "start":
        return void start(client, act.endpoint, act.deployment);
      case "cordon":
        return void cordon(client, act.node, act.cordoned);
      case "cancel":
        return void cancel(client, act.operation, act.title);
      case "theme":
        return toggleColorScheme();
      case "keys":
        return keyHelp.open();
      case "sign-out":
        return void leave().catch((error: unknown) => notifyProblem(error, t`You could not be signed out`));
    }
  };
}
