/** What the last step proposes until somebody types a name, from what the server says of its endpoints. */
import { t } from "@lingui/core/macro";
import type { Endpoint } from "@/api/types";
import type { DraftForm } from "../draft/draft";
import { endpointNameProblem, freeEndpointName, suggestDeployment } from "./names";

type Place = Pick<DraftForm, "named" | "target" | "endpoint" | "deployment">;
type Known = Pick<Endpoint, "name" | "traffic"> & {
  deployments: readonly Pick<Endpoint["deployments"][number], "name" | "provisioning_state">[];
};

/** One that failed or was canceled and answers nobody: its name is free for the next try. */
const mayBeReplaced = (deployment: Known["deployments"][number], endpoint: Known): boolean =>
  ["Failed", "Canceled"].includes(deployment.provisioning_state) && !endpoint.traffic[deployment.name];

export const namesTaken = (endpoint: Known | undefined): string[] =>
  endpoint ? endpoint.deployments.filter((one) => !mayBeReplaced(one, endpoint)).map((one) => one.name) : [];

/** Why it cannot be deployed there; null when it can. */
export function placeProblem(place: Place, endpoints: readonly Known[]): string | null {
  const existing = endpoints.find((endpoint) => endpoint.name === place.endpoint);
  if (place.target === "existing") {
    if (!existing) return t`Choose an endpoint.`;
    return namesTaken(existing).includes(place.deployment)
      ? t`${place.endpoint} has a deployment ${place.deployment} already. Choose another name.`
      : null;
  }
  return existing
    ? t`An endpoint ${place.endpoint} exists already. Choose another name, or deploy to it.`
    : endpointNameProblem(place.endpoint);
}

/** A free endpoint name, or the slot beside what serves; null when what is there will do, or was typed. */
export function suggestion(place: Place, endpoints: readonly Known[]): Partial<Place> | null {
  if (place.named) return null;
  if (place.target === "new") {
    const free = freeEndpointName(
      place.endpoint,
      endpoints.map((endpoint) => endpoint.name),
    );
    return free === place.endpoint ? null : { endpoint: free };
  }
  const taken = namesTaken(endpoints.find((endpoint) => endpoint.name === place.endpoint));
  return taken.includes(place.deployment) ? { deployment: suggestDeployment(taken) } : null;
}
