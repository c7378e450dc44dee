/** Step 1: choose files and watch them go, go on with an earlier draft, or take a registered version. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { IconPackage } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Dropped } from "@/app/dropped-files";
import { allModelsQuery } from "@/api/models";
import type { Upload } from "@/api/types";
import { Card } from "@/components/card";
import { bytes, joined, seconds, significant } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { ProjectSwitcher } from "@/components/project-switcher";
import { Chip, ToneIcon } from "@/components/status";
import shared from "../deploy.module.css";
import classes from "./upload-step.module.css";
import { rateOf, secondsLeft } from "../upload/transfer-rate";
import { percentOf, type UploadView } from "../upload/upload-machine";
import { DraftsCard } from "./drafts-card";
import { DropArea } from "./drop-area";
import { ImportCard } from "./import-card";

export interface UploadStepProps {
  view: UploadView;
  /** An upload of an earlier visit that lacks bytes. */
  unfinished: Upload | null;
  /** Why the last choice was not taken. */
  refused: string | null;
  showDrafts: boolean;
  onFiles: (files: Dropped[]) => void;
  onCancel: () => void;
  onForget: () => void;
  onVersion: (model: string, version: number) => void;
  /** The server fetches it already. */
  onImport: (upload: Upload) => void;
}

type Way = "files" | "address";
const WAYS: readonly { value: Way; label: string }[] = [
  { value: "files", label: t`From this computer` },
  { value: "address", label: t`From an address` },
];

const ENDED = new Set(["idle", "failed", "canceled", "done"]);

const FORMATS: [string, string][] = [
  [".onnx", t`One file, or a graph with its external data: drop all of them together.`],
  [".pt .pt2", t`TorchScript, torch.export or AOTInductor. Weights alone cannot be served.`],
  [".zip .tar.gz", t`A model repository: name/1/model.onnx, with or without config.pbtxt. Several models and ensembles, too.`],
  [t`folder`, t`A repository, a SavedModel, or a Python model; it is packed on the way.`],
  [".py .plan .xml", t`Python models, TensorRT engines, OpenVINO; XGBoost (.json, .ubj) and LightGBM (.txt).`],
];

export function UploadStep(props: UploadStepProps) {
  const { view, unfinished, refused } = props;
  const [chosen, setWay] = useState<Way>("files");
  const way = unfinished ? "files" : chosen;
  return (
    <div className={`${shared["columns"]} ${shared["wideLeft"]}`}>
      <div className={shared["stack"]}>
        {ENDED.has(view.phase) ? <ProjectSwitcher label={t`Project of the model`} /> : null}
        {ENDED.has(view.phase) && !unfinished ? (
          <Segmented label={t`Where the model is`} value={way} options={WAYS} onChange={setWay} />
        ) : null}
        {ENDED.has(view.phase) && way === "address" ? (
          <ImportCard onImport={props.onImport} />
        ) : ENDED.has(view.phase) ? (
          <DropArea unfinished={unfinished} onFiles={props.onFiles} onForget={props.onForget} />
        ) : (
          <Transfer view={view} onCancel={props.onCancel} />
        )}
        {refused === null ? null : <Refusal text={refused} />}
        {view.phase === "failed" && view.failure ? (
          <Refusal text={[view.failure.title, view.failure.detail, ...view.failure.hints].filter(Boolean).join(" ")} />
        ) : null}
        {view.phase === "canceled" ? (
          <p className={shared["hint"]}>
            <Trans>The upload was canceled. Nothing of it is kept.</Trans>
          </p>
        ) : null}
      </div>
      <div className={shared["stack"]}>
        {props.showDrafts && ENDED.has(view.phase) ? <DraftsCard /> : null}
        <Registered onVersion={props.onVersion} />
        <Card title={t`What can be served`}>
          <ul className={classes["formats"]}>
            {FORMATS.map(([ending, words]) => (
              <li key={ending}>
                <span className={classes["endings"]}>
                  {ending.split(" ").map((one) => (
                    <Chip key={one} mono>
                      {one}
                    </Chip>
                  ))}
                </span>
                <span>{words}</span>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </div>
  );
}

function Refusal({ text }: { text: string }) {
  return (
    <div className={shared["refusal"]} role="alert">
      <ToneIcon tone="error" label={t`Not accepted`} />
      <span>{text}</span>
    </div>
  );
}

const PHASE_WORDS: Partial<Record<UploadView["phase"], string>> = {
  packing: t`Packing`,
  starting: t`Starting`,
  sending: t`Uploading`,
  waiting: t`Connection lost, trying again`,
  finishing: t`Comparing checksums`,
};

function Transfer({ view, onCancel }: { view: UploadView; onCancel: () => void }) {
  const packing = view.phase === "packing";
  const percent = packing ? (view.size === 0 ? 0 : (view.packed / view.size) * 100) : percentOf(view);
  const speed = rateOf(view.samples);
  const left = secondsLeft(view.samples, view.size);
  const waiting = view.phase === "waiting";
  return (
    <Card
      title={PHASE_WORDS[view.phase] ?? t`Uploading`}
      hint={waiting ? t`try ${view.attempt + 1}, nothing is lost` : packing ? t`several files become one archive` : undefined}
      actions={
        <Button variant="default" onClick={onCancel}>
          <Trans>Cancel upload</Trans>
        </Button>
      }
    >
      <div className={classes["transfer"]}>
        <div className={classes["fileRow"]}>
          <span className={classes["fileIcon"]}>
            <IconPackage size={20} stroke={1.6} aria-hidden />
          </span>
          <span className="truncate">
            <span className={classes["fileName"]}>{view.filename}</span>
            <br />
            <span className="secondary">{bytes(view.size)}</span>
          </span>
        </div>
        <div
          className={shared["bar"]}
          data-tone={waiting ? "warn" : undefined}
          role="progressbar"
          aria-label={packing ? t`Packing` : t`Upload`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.floor(percent)}
        >
          <span style={{ width: `${percent}%` }} />
        </div>
        <div className={classes["meter"]}>
          <span>
            <Trans>
              <strong>{Math.floor(percent)} %</strong> of {bytes(view.size)}
            </Trans>
          </span>
          {packing ? null : (
            <>
              <span>
                <strong>{speed === null ? "–" : joined({ value: significant(speed / 1024 ** 2), unit: "MiB/s" })}</strong>
              </span>
              <span>
                <Trans>
                  <strong>{left === null ? "–" : seconds(left)}</strong> left
                </Trans>
              </span>
              <span>
                <Trans>
                  SHA-256 <strong>{view.size === 0 ? 0 : Math.floor((view.hashed / view.size) * 100)} %</strong>
                </Trans>
              </span>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}

function Registered({ onVersion }: { onVersion: (model: string, version: number) => void }) {
  const { data, error, refetch } = useQuery(allModelsQuery());
  if (error && !data) return <ProblemCard error={error} title={t`The models could not be loaded`} onRetry={() => void refetch()} />;
  const models = (data?.items ?? []).filter((model) => !model.archived && model.latest_version !== null);
  if (models.length === 0) return null;
  return (
    <Card title={t`Or a model that is here already`}>
      <Select
        searchable
        // why: of thousands so many are drawn at a time; what is typed looks through all.
        limit={100}
        nothingFoundMessage={t`No model of that name`}
        label={t`Registered model`}
        placeholder={t`Choose a model`}
        data={models.map((model) => ({ value: model.name, label: `${model.name} v${model.latest_version}` }))}
        onChange={(name) => {
          const model = models.find((candidate) => candidate.name === name);
          if (model?.latest_version) onVersion(model.name, model.latest_version);
        }}
      />
    </Card>
  );
}
