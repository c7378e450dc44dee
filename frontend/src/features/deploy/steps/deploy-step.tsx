/** Step 5: under which address, and with how much traffic. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { endpointsNowQuery } from "@/api/endpoints";
import { modelVersionQuery, newestRevision } from "@/api/models";
import { toProblem } from "@/api/problem";
import type { Endpoint } from "@/api/types";
import { Card } from "@/components/card";
import { CodeNotice } from "@/components/code-notice";
import { ProblemCard } from "@/components/problem-card";
import { endpointNameProblem, suggestDeployment } from "../config/names";
import type { DeploySource } from "../config/source";
import { namesTaken, placeProblem, suggestion } from "../config/suggestions";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { deployLabel, type FirstTraffic, trafficProblem } from "../draft/first-traffic";
import { refusedSettings, settingsProblems, type Problems, type RunSettings, type Secrets } from "../draft/settings";
import { DeploySummary } from "./deploy-summary";
import { Footer } from "./footer";
import { RunSettingsSections } from "./run-settings";
import { TrafficSection } from "./traffic-section";

export interface DeployStepProps {
  source: DeploySource;
  draft: DraftForm;
  onDraft: (part: Partial<DraftForm>) => void;
  nameNote: string;
  /** To be answered before it is deployed. */
  question: React.ReactNode;
  busy: boolean;
  failure: unknown;
  /** The settings that `failure` is an answer to. */
  refused: RunSettings | undefined;
  secrets: Secrets;
  onSecrets: (secrets: Secrets) => void;
  onBack: () => void;
  onConfigure: () => void;
  /** To what somebody stated of the file. */
  onOrigin: () => void;
  onDeploy: () => void;
}

export function DeployStep(props: DeployStepProps) {
  const { source, draft, onDraft, nameNote, busy, failure, onBack, onDeploy } = props;
  const listed = useQuery(endpointsNowQuery());
  const endpoints = listed.data?.items ?? [];
  // A deployment under way takes its own names.
  useSuggestions(draft, listed.isFetchedAfterMount && !busy ? listed.data?.items : undefined, onDraft);
  const existing = draft.target === "existing" ? endpoints.find((endpoint) => endpoint.name === draft.endpoint) : undefined;
  const problem = placeProblem(draft, endpoints);
  const deploymentProblem = endpointNameProblem(draft.deployment);
  const settings = settingsView(props);
  const wrong = problem ?? deploymentProblem ?? trafficProblem(draft.traffic) ?? settings.message;
  const onTraffic = useCallback((traffic: FirstTraffic) => onDraft({ traffic }), [onDraft]);
  return (
    <>
      <div className={`${classes["columns"]} ${classes["wideLeft"]}`}>
        <Card flush>
          <EndpointSection
            draft={draft}
            onDraft={onDraft}
            endpoints={endpoints}
            existing={existing}
            problem={problem}
            deploymentProblem={deploymentProblem}
          />
          {draft.target === "new" ? (
            <div className={classes["section"]}>
              <div className={classes["sectionHead"]}>
                <h2>
                  <Trans>Access</Trans>
                </h2>
                <span className="secondary">
                  <Trans>how clients prove themselves</Trans>
                </span>
              </div>
              <SegmentedControl
                aria-label={t`Access`}
                value={draft.authMode}
                onChange={(mode) => onDraft({ authMode: mode === "aml_token" ? "aml_token" : "key" })}
                data={[
                  { value: "key", label: t`Two keys` },
                  { value: "aml_token", label: t`Short-lived tokens` },
                ]}
              />
            </div>
          ) : null}
          <TrafficSection draft={draft} existing={existing} known={listed.isFetchedAfterMount && !busy} onTraffic={onTraffic} />
          <RunSettingsSections
            settings={draft.settings}
            onSettings={(next) => onDraft({ settings: next })}
            secrets={props.secrets}
            onSecrets={props.onSecrets}
            problems={settings.shown}
          />
        </Card>
        <div className={classes["stack"]}>
          {busy ? null : props.question}
          <DeploySummary source={source} draft={draft} nameNote={nameNote} />
          <CodeNow source={source} draft={draft} />
          {failure && !isWaiting(failure) ? (
            <ProblemCard error={failure} title={t`The deployment was not started`} onRetry={onDeploy} />
          ) : null}
          {failure && toProblem(failure).field?.startsWith("lineage") ? (
            <Button variant="default" onClick={props.onOrigin}>
              <Trans>Back to where it comes from</Trans>
            </Button>
          ) : null}
          {failure && toProblem(failure).field?.startsWith("configs") ? (
            <Button variant="default" onClick={props.onConfigure}>
              <Trans>Back to the configuration</Trans>
            </Button>
          ) : null}
        </div>
      </div>
      <Footer
        onBack={onBack}
        message={wrong}
        tone={wrong ? "error" : undefined}
        forward={deployLabel(draft.deployment, draft.traffic)}
        onForward={onDeploy}
        blocked={Boolean(props.question) || wrong !== ""}
        busy={busy}
      />
    </>
  );
}

interface EndpointSectionProps extends Pick<DeployStepProps, "draft" | "onDraft"> {
  endpoints: readonly Endpoint[];
  existing: Endpoint | undefined;
  problem: string | null;
  deploymentProblem: string | null;
}

function EndpointSection({ draft, onDraft, endpoints, existing, problem, deploymentProblem }: EndpointSectionProps) {
  const choose = (name: string) => {
    const taken = namesTaken(endpoints.find((endpoint) => endpoint.name === name));
    onDraft({ named: true, endpoint: name, deployment: suggestDeployment(taken), traffic: { ...draft.traffic, way: "none" } });
  };
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>
          <Trans>Endpoint</Trans>
        </h2>
        <span className="secondary">
          <Trans>the stable address that clients call</Trans>
        </span>
      </div>
      <div className={classes["stack"]}>
        <SegmentedControl
          aria-label={t`Endpoint`}
          style={{ justifySelf: "start" }}
          value={draft.target}
          data={[
            { value: "new", label: t`New endpoint` },
            { value: "existing", label: t`Existing endpoint`, disabled: endpoints.length === 0 },
          ]}
          onChange={(target) =>
            target === "new"
              ? onDraft({ target: "new", deployment: "blue", traffic: { ...draft.traffic, way: "all" } })
              : onDraft({ target: "existing", traffic: { ...draft.traffic, way: "none" } })
          }
        />
        <div className={classes["fields"]}>
          {draft.target === "new" ? (
            <TextInput
              label={t`Endpoint name`}
              value={draft.endpoint}
              onChange={(event) => onDraft({ named: true, endpoint: event.currentTarget.value })}
              error={problem}
            />
          ) : (
            <Select
              label={t`Endpoint name`}
              searchable
              placeholder={t`Choose an endpoint`}
              value={existing ? draft.endpoint : null}
              data={endpoints.map((endpoint) => endpoint.name)}
              onChange={(name) => {
                if (name !== null) choose(name);
              }}
              error={problem}
            />
          )}
          <TextInput
            label={t`Deployment name`}
            value={draft.deployment}
            onChange={(event) => onDraft({ named: true, deployment: event.currentTarget.value })}
            error={deploymentProblem}
          />
        </div>
      </div>
    </div>
  );
}

/** Problems of the settings: ours at once, the server's until something is changed. */
function settingsView({ draft, secrets, failure, refused }: DeployStepProps): { shown: Problems; message: string } {
  const own = settingsProblems(draft.settings, secrets);
  const answered = failure && refused === draft.settings ? refusedSettings(failure, draft.settings) : {};
  const wrong = Object.keys(own).length;
  const message = wrong === 0 ? "" : wrong === 1 ? t`A setting above is marked.` : t`${wrong} settings above are marked.`;
  return { shown: { ...answered, ...own }, message };
}

/** Not a failure: what was asked for is kept, and somebody else has the next step. */
const isWaiting = (failure: unknown): boolean => toProblem(failure).code === "CodeNotApproved";
const LOOK_AGAIN_MS = 5000;

/** What runs code: once it is registered, its version says when it has been approved. */
function CodeNow({ source, draft }: Pick<DeployStepProps, "source" | "draft">) {
  const version = draft.registered ?? source.registered;
  const now = useQuery({
    ...modelVersionQuery(version?.model ?? "", version?.version ?? "latest"),
    enabled: version !== null && source.code.state !== "none",
    refetchInterval: ({ state }) => (state.data?.code.state === "waiting" ? LOOK_AGAIN_MS : false),
  });
  const seen = now.data ? { revision: newestRevision(now.data) } : {};
  return <CodeNotice code={now.data?.code ?? source.code} {...(version ? { version: { ...version, ...seen } } : {})} />;
}

/** Until a name is typed; `now` is known once the server has answered anew. */
function useSuggestions(draft: DraftForm, now: readonly Endpoint[] | undefined, onDraft: (part: Partial<DraftForm>) => void): void {
  const suggested = now === undefined ? null : suggestion(draft, now);
  const text = JSON.stringify(suggested);
  useEffect(() => {
    const names = JSON.parse(text) as Partial<DraftForm> | null;
    if (names !== null) onDraft(names);
  }, [onDraft, text]);
}
