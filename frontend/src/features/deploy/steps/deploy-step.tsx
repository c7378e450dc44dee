/** Step 4: where it goes: endpoint, deployment, instances, traffic. */
import { NumberInput, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { endpointsQuery } from "@/api/endpoints";
import { nodesQuery } from "@/api/nodes";
import type { Endpoint } from "@/api/types";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { Chip, Status } from "@/components/status";
import type { DraftForm } from "../draft/draft";
import { endpointNameProblem, suggestDeployment } from "../config/names";
import { changedConfigs, type DeploySource } from "../config/source";
import classes from "../deploy.module.css";
import { Footer } from "./footer";

export interface DeployStepProps {
  source: DeploySource;
  draft: DraftForm;
  onDraft: (part: Partial<DraftForm>) => void;
  nameNote: string;
  busy: boolean;
  failure: unknown;
  onBack: () => void;
  onDeploy: () => void;
}

function placeProblem(draft: DraftForm, endpoints: readonly Endpoint[]): string | null {
  const existing = endpoints.find((endpoint) => endpoint.name === draft.endpoint);
  if (draft.target === "existing") {
    if (!existing) return "Choose an endpoint.";
    return existing.deployments.some((deployment) => deployment.name === draft.deployment)
      ? `${draft.endpoint} has a deployment ${draft.deployment} already. Choose another name.`
      : null;
  }
  return existing
    ? `An endpoint ${draft.endpoint} exists already. Choose another name, or deploy to it.`
    : endpointNameProblem(draft.endpoint);
}

export function DeployStep({ source, draft, onDraft, nameNote, busy, failure, onBack, onDeploy }: DeployStepProps) {
  const endpoints = useQuery(endpointsQuery({ limit: 200 })).data?.items ?? [];
  const existing =
    draft.target === "existing" ? endpoints.find((endpoint) => endpoint.name === draft.endpoint) : undefined;
  const problem = placeProblem(draft, endpoints);
  const deploymentProblem = endpointNameProblem(draft.deployment);
  const nothingServes = !existing || Object.values(existing.traffic).every((share) => share === 0);
  const choose = (name: string) => {
    const taken =
      endpoints.find((endpoint) => endpoint.name === name)?.deployments.map((deployment) => deployment.name) ?? [];
    onDraft({ endpoint: name, deployment: suggestDeployment(taken) });
  };
  const changed = Object.keys(changedConfigs(source.models, draft.texts)).length;
  return (
    <>
      <div className={`${classes["columns"]} ${classes["wideLeft"]}`}>
        <Card flush>
          <div className={classes["section"]}>
            <div className={classes["sectionHead"]}>
              <h2>Endpoint</h2>
              <span className="secondary">the stable address that clients call</span>
            </div>
            <div className={classes["stack"]}>
              <SegmentedControl
                aria-label="Endpoint"
                style={{ justifySelf: "start" }}
                value={draft.target}
                data={[
                  { value: "new", label: "New endpoint" },
                  { value: "existing", label: "Existing endpoint", disabled: endpoints.length === 0 },
                ]}
                onChange={(target) => onDraft({ target, ...(target === "new" ? { deployment: "blue" } : {}) })}
              />
              <div className={classes["fields"]}>
                {draft.target === "new" ? (
                  <TextInput
                    label="Endpoint name"
                    value={draft.endpoint}
                    onChange={(event) => onDraft({ endpoint: event.currentTarget.value })}
                    error={problem}
                  />
                ) : (
                  <Select
                    label="Endpoint name"
                    searchable
                    placeholder="Choose an endpoint"
                    value={existing ? draft.endpoint : null}
                    data={endpoints.map((endpoint) => endpoint.name)}
                    onChange={(name) => {
                      if (name !== null) choose(name);
                    }}
                    error={problem}
                  />
                )}
                <TextInput
                  label="Deployment name"
                  value={draft.deployment}
                  onChange={(event) => onDraft({ deployment: event.currentTarget.value })}
                  error={deploymentProblem}
                />
              </div>
            </div>
          </div>
          <div className={classes["section"]}>
            <div className={classes["sectionHead"]}>
              <h2>Replicas</h2>
              <span className="secondary">each is a process of its own, placed on the node with the most room</span>
            </div>
            <div className={classes["fields"]}>
              <NumberInput
                label="Replicas"
                value={draft.instanceCount}
                min={1}
                max={16}
                allowDecimal={false}
                onChange={(value) => {
                  if (typeof value === "number" && value >= 1) onDraft({ instanceCount: value });
                }}
              />
              <Nodes />
            </div>
          </div>
          <div className={classes["section"]}>
            <div className={classes["sectionHead"]}>
              <h2>Traffic</h2>
            </div>
            <Switch
              label={
                nothingServes
                  ? "Serve all requests as soon as it is ready"
                  : "Move all requests to it as soon as it is ready"
              }
              checked={draft.takeTraffic}
              onChange={(event) => onDraft({ takeTraffic: event.currentTarget.checked })}
            />
            <p className={classes["note"]}>{trafficNote(draft, existing)}</p>
          </div>
        </Card>
        <div className={classes["stack"]}>
          <Card title="Summary">
            <dl className={classes["facts"]}>
              <dt>Model</dt>
              <dd>
                <span className="mono">{draft.modelName}</span> <span className="secondary">{nameNote}</span>
              </dd>
              <dt>File</dt>
              <dd>
                <span className="mono">{source.filename}</span> <span className="secondary">{bytes(source.size)}</span>
              </dd>
              <dt>Configuration</dt>
              <dd>
                {changed === 0
                  ? "as completed from the model"
                  : `edited by you (${changed} ${changed === 1 ? "model" : "models"})`}
              </dd>
              <dt>Endpoint</dt>
              <dd>
                <span className="mono">{draft.endpoint || "–"}</span> <Chip>{draft.target}</Chip>
              </dd>
              <dt>Deployment</dt>
              <dd>
                <span className="mono">{draft.deployment || "–"}</span>{" "}
                <span className="secondary">
                  {draft.instanceCount} {draft.instanceCount === 1 ? "replica" : "replicas"},{" "}
                  {draft.takeTraffic ? "100 %" : "0 %"} of the traffic
                </span>
              </dd>
            </dl>
          </Card>
          {failure ? <ProblemCard error={failure} title="The deployment was not started" onRetry={onDeploy} /> : null}
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={problem ?? deploymentProblem ?? ""}
        tone={problem || deploymentProblem ? "error" : undefined}
        forward={`Deploy ${draft.deployment || "it"} at ${draft.takeTraffic ? 100 : 0} %`}
        onForward={onDeploy}
        blocked={problem !== null || deploymentProblem !== null}
        busy={busy}
      />
    </>
  );
}

function trafficNote(draft: DraftForm, existing: Endpoint | undefined): string {
  const serving = Object.entries(existing?.traffic ?? {}).filter(([, share]) => share > 0);
  const now = serving.map(([name, share]) => `${name} ${share} %`).join(", ");
  if (!draft.takeTraffic)
    return now
      ? `Traffic stays at ${now}. Test the new deployment directly, then move traffic.`
      : "It can be tested directly, and gets traffic when you say so.";
  return now
    ? `Before: ${now}. After: ${draft.deployment} 100 %.`
    : "The endpoint answers as soon as every replica is ready.";
}

function Nodes() {
  const { data, error } = useQuery(nodesQuery());
  if (error) return <ProblemCard error={error} title="The nodes could not be read" />;
  const nodes = data?.items ?? [];
  const ready = nodes.filter((node) => node.state.toLowerCase() === "online" && !node.cordoned);
  return (
    <div className={classes["field"]}>
      <span className={classes["fieldLabel"]}>
        {data ? `${ready.length} of ${nodes.length} nodes can take it` : "Nodes"}
      </span>
      <div className={classes["nodes"]}>
        {nodes.slice(0, 6).map((node) => (
          <span key={node.id} title={node.name}>
            <Status state={node.cordoned ? "Cordoned" : node.state} plain /> <span className="mono">{node.name}</span>
          </span>
        ))}
      </div>
      {data && ready.length === 0 ? (
        <p className={classes["hint"]} data-tone="error">
          No node is online. The deployment waits until one joins.
        </p>
      ) : null}
    </div>
  );
}
