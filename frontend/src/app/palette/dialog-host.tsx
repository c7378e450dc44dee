/** The pages' dialogs over any page: what the palette asks before it changes something. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { endpointQuery } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";
import { notifyProblem } from "@/components/notify";
import { DeleteDialog, PauseDialog, RestartDialog, ScaleDialog } from "@/features/endpoints/components/deployment-dialogs";
import { RegenerateDialog } from "@/features/endpoints/components/regenerate-dialog";
import { TrafficDialog } from "@/features/endpoints/components/traffic-dialog";
import { UpdateDialog } from "@/features/endpoints/components/update-dialog";
import { DrainModal } from "@/features/nodes/components/drain-modal";
import type { DialogAct, DeploymentDialogName } from "./act";

interface HostProps<A> {
  ask: A;
  onClose: () => void;
}

const DIALOGS = { restart: RestartDialog, pause: PauseDialog, scale: ScaleDialog, delete: DeleteDialog } as const;

function DeploymentAsk({
  endpoint,
  name,
  dialog,
  onClose,
}: {
  endpoint: Endpoint;
  name: string;
  dialog: DeploymentDialogName;
  onClose: () => void;
}) {
  const deployment = endpoint.deployments.find((one) => one.name === name);
  useEffect(() => {
    if (deployment) return;
    notifyProblem(new Error(t`It may have been deleted a moment ago.`), t`${endpoint.name} has no deployment ${name}`);
    onClose();
  }, [deployment, endpoint.name, name, onClose]);
  if (!deployment) return null;
  if (dialog === "update") return <UpdateDialog opened endpoint={endpoint.name} deployment={deployment} onClose={onClose} />;
  const Dialog = DIALOGS[dialog];
  return <Dialog opened endpoint={endpoint} deployment={deployment} onClose={onClose} />;
}

/** Asked with the endpoint as it is now: the traffic decides how much must be typed. */
function EndpointAsk({ ask, onClose }: HostProps<Extract<DialogAct, { dialog: DeploymentDialogName | "traffic" }>>) {
  const { data, error } = useQuery({ ...endpointQuery(ask.endpoint), staleTime: 0 });
  useEffect(() => {
    if (!error || data) return;
    notifyProblem(error, t`${ask.endpoint} could not be read`);
    onClose();
  }, [ask.endpoint, data, error, onClose]);
  if (!data) return null;
  if (ask.dialog === "traffic") return <TrafficDialog endpoint={data} onClose={onClose} />;
  return <DeploymentAsk endpoint={data} name={ask.deployment} dialog={ask.dialog} onClose={onClose} />;
}

export default function DialogHost({ ask, onClose }: HostProps<DialogAct>) {
  if (ask.dialog === "drain") return <DrainModal names={[ask.node]} onClose={onClose} />;
  if (ask.dialog === "regenerate") return <RegenerateDialog endpoint={ask.endpoint} kind={ask.key} onClose={onClose} />;
  return <EndpointAsk ask={ask} onClose={onClose} />;
}
