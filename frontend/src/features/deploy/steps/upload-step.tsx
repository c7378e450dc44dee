/** Step 1: choose a file and watch it go, or take a registered version. */
import { Button, Select } from "@mantine/core";
import { Dropzone } from "@mantine/dropzone";
import { IconFileUpload, IconPackage } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { modelsQuery } from "@/api/models";
import type { Upload } from "@/api/types";
import { Card } from "@/components/card";
import { bytes, joined, seconds, significant } from "@/components/format";
import { Chip, ToneIcon } from "@/components/status";
import classes from "../deploy.module.css";
import { refusalOfSelection } from "../upload/accepted-files";
import { rateOf, secondsLeft } from "../upload/transfer-rate";
import { percentOf, type UploadView } from "../upload/upload-machine";
import type { UploadControl } from "../upload/use-upload";

export interface UploadStepProps {
  control: UploadControl;
  /** An upload of an earlier visit that lacks bytes. */
  unfinished: Upload | null;
  onForget: () => void;
  onVersion: (model: string, version: number) => void;
}

const ENDED = new Set(["idle", "failed", "canceled"]);

export function UploadStep({ control, unfinished, onForget, onVersion }: UploadStepProps) {
  const { view } = control;
  const [refused, setRefused] = useState<string | null>(null);
  const take = (files: File[]) => {
    const problem = refusalOfSelection(files) ?? (unfinished ? mismatch(unfinished, files[0]) : null);
    setRefused(problem);
    const file = files[0];
    if (problem !== null || !file) return;
    control.start(
      file,
      unfinished ? { id: unfinished.id, offset: unfinished.offset, chunkSize: unfinished.chunk_size } : undefined,
    );
  };
  return (
    <div className={`${classes["columns"]} ${classes["wideLeft"]}`}>
      <div className={classes["stack"]}>
        {ENDED.has(view.phase) ? (
          <DropArea unfinished={unfinished} onFiles={take} onForget={onForget} />
        ) : (
          <Transfer view={view} onCancel={control.cancel} />
        )}
        {refused === null ? null : <Refusal text={refused} />}
        {view.phase === "failed" && view.failure ? (
          <Refusal text={[view.failure.title, view.failure.detail, ...view.failure.hints].filter(Boolean).join(" ")} />
        ) : null}
        {view.phase === "canceled" ? (
          <p className={classes["hint"]}>The upload was canceled. Nothing of it is kept.</p>
        ) : null}
      </div>
      <div className={classes["stack"]}>
        <Card title="What can be served">
          <ul className={classes["formats"]}>
            <li>
              <Chip mono>.onnx</Chip>
              <span>A model in one file. Inputs, outputs and batching are read from its graph.</span>
            </li>
            <li>
              <Chip mono>.zip</Chip>
              <span>
                A model repository, as <span className="mono">name/1/model.onnx</span> with or without a{" "}
                <span className="mono">config.pbtxt</span>. One or several models.
              </span>
            </li>
          </ul>
        </Card>
        <Registered onVersion={onVersion} />
      </div>
    </div>
  );
}

function mismatch(unfinished: Upload, file: File | undefined): string | null {
  if (!file || (file.name === unfinished.filename && file.size === unfinished.size)) return null;
  return `To continue, choose ${unfinished.filename} (${bytes(unfinished.size)}) again. This is ${file.name} (${bytes(file.size)}).`;
}

function Refusal({ text }: { text: string }) {
  return (
    <div className={classes["refusal"]} role="alert">
      <ToneIcon tone="error" label="Not accepted" />
      <span>{text}</span>
    </div>
  );
}

function DropArea({
  unfinished,
  onFiles,
  onForget,
}: {
  unfinished: Upload | null;
  onFiles: (files: File[]) => void;
  onForget: () => void;
}) {
  return (
    <>
      <Dropzone
        onDrop={(files) => onFiles(files)}
        onReject={(rejections) => onFiles(rejections.map((rejection) => rejection.file as File))}
        multiple
        unstyled
        className={classes["drop"] ?? ""}
        inputProps={{ "aria-label": "Model file" }}
        enablePointerEvents={false}
      >
        <div className={classes["dropInner"]}>
          <span className={classes["dropIcon"]}>
            <IconFileUpload size={24} stroke={1.6} aria-hidden />
          </span>
          <span className={classes["dropTitle"]}>
            {unfinished ? `Drop ${unfinished.filename} again to continue` : "Drop a model here"}
          </span>
          <span className={classes["dropHint"]}>
            {unfinished
              ? `${bytes(unfinished.offset)} of ${bytes(unfinished.size)} are on the server. The rest follows from there.`
              : "An ONNX file, or a zipped model repository. Lost connections are picked up where they broke."}
          </span>
          <span className={classes["fakeButton"]} aria-hidden>
            Choose a file
          </span>
        </div>
      </Dropzone>
      {unfinished ? (
        <p className={classes["hint"]}>
          <button type="button" className={classes["linkButton"]} onClick={onForget}>
            Start over with another file
          </button>
        </p>
      ) : null}
    </>
  );
}

const PHASE_WORDS: Partial<Record<UploadView["phase"], string>> = {
  starting: "Starting",
  sending: "Uploading",
  waiting: "Connection lost, trying again",
  finishing: "Comparing checksums",
  done: "Uploaded",
};

function Transfer({ view, onCancel }: { view: UploadView; onCancel: () => void }) {
  const percent = percentOf(view);
  const speed = rateOf(view.samples);
  const left = secondsLeft(view.samples, view.size);
  const waiting = view.phase === "waiting";
  return (
    <Card
      title={PHASE_WORDS[view.phase] ?? "Uploading"}
      hint={waiting ? `try ${view.attempt + 1}, nothing is lost` : undefined}
      actions={
        view.phase === "done" ? undefined : (
          <Button variant="default" onClick={onCancel}>
            Cancel upload
          </Button>
        )
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
          className={classes["bar"]}
          data-tone={waiting ? "warn" : undefined}
          role="progressbar"
          aria-label="Upload"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.floor(percent)}
        >
          <span style={{ width: `${percent}%` }} />
        </div>
        <div className={classes["meter"]}>
          <span>
            <strong>{Math.floor(percent)} %</strong> of {bytes(view.size)}
          </span>
          <span>
            <strong>{speed === null ? "–" : joined({ value: significant(speed / 1024 ** 2), unit: "MiB/s" })}</strong>
          </span>
          <span>
            <strong>{left === null ? "–" : seconds(left)}</strong> left
          </span>
          <span>
            SHA-256 <strong>{view.size === 0 ? 0 : Math.floor((view.hashed / view.size) * 100)} %</strong>
          </span>
        </div>
      </div>
    </Card>
  );
}

function Registered({ onVersion }: { onVersion: (model: string, version: number) => void }) {
  const { data } = useQuery(modelsQuery({ limit: 100 }));
  const models = (data?.items ?? []).filter((model) => !model.archived && model.latest_version !== null);
  if (models.length === 0) return null;
  return (
    <Card title="Or a model that is here already">
      <Select
        searchable
        label="Registered model"
        placeholder="Choose a model"
        data={models.map((model) => ({ value: model.name, label: `${model.name} v${model.latest_version}` }))}
        onChange={(name) => {
          const model = models.find((candidate) => candidate.name === name);
          if (model?.latest_version) onVersion(model.name, model.latest_version);
        }}
      />
    </Card>
  );
}
