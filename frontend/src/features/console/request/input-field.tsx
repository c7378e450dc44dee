/** One input of the model: its name and type, the ways to fill it, and what will be sent. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { SegmentedControl, Switch } from "@mantine/core";
import { bytes, shape } from "@/components/format";
import { Chip } from "@/components/status";
import { shapeText } from "@/inference/tensor/shape";
import shared from "../console.module.css";
import classes from "./input-field.module.css";
import { buildInput } from "./build-input";
import { CellsInput } from "./cells-input";
import { FileInput } from "./file-input";
import { switchMode } from "./fill-draft";
import { GridInput } from "./grid-input";
import { ImageInput } from "./image-input";
import { isUntouched, modeOf, modesOf, type Batch, type InputDraft, type InputMode } from "./input-draft";
import { SampleInput } from "./sample-input";

export interface InputFieldProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (part: Partial<InputDraft>) => void;
}

const MODES: Record<InputMode, string> = {
  cells: t`Values`,
  grid: t`Table`,
  paste: t`Paste`,
  image: t`Picture`,
  file: t`File`,
  sample: t`Sample`,
};

export function InputField({ draft, batch, onChange }: InputFieldProps) {
  const mode = modeOf(draft, batch);
  const built = draft.include ? buildInput(draft, batch) : null;
  const untouched = isUntouched(draft, batch);
  const tone = built && !built.ok && !untouched ? "error" : undefined;
  return (
    <section className={shared["section"]} aria-label={t`Input ${draft.name}`}>
      <div className={classes["inputHead"]}>
        <span className={shared["inputName"]}>{draft.name}</span>
        <Chip mono>{draft.datatype}</Chip>
        <span className="secondary">{shape(draft.dims)}</span>
        {draft.optional ? (
          <Switch
            label={t`Include`}
            aria-label={t`Include ${draft.name}`}
            checked={draft.include}
            onChange={(event) => onChange({ include: event.currentTarget.checked })}
          />
        ) : null}
        {draft.include ? (
          <SegmentedControl
            className={classes["inputModes"] ?? ""}
            aria-label={t`How to fill ${draft.name}`}
            value={mode}
            data={modesOf(draft, batch).map((value) => ({ value, label: MODES[value] }))}
            onChange={(next) => onChange(switchMode(draft, batch, next as InputMode))}
          />
        ) : null}
      </div>
      {draft.include ? (
        <>
          {mode === "paste" || mode === "file" ? null : <Sizes draft={draft} onChange={onChange} />}
          <Filling draft={draft} batch={batch} mode={mode} wrong={tone === "error"} onChange={onChange} />
          <p className={shared["sentLine"]} data-tone={tone}>
            {built?.ok
              ? t`to send: ${shapeText(built.input.shape)}, ${draft.datatype}, ${bytes(built.input.bytes)}`
              : untouched
                ? t`nothing to send yet`
                : built?.error}
          </p>
        </>
      ) : (
        <p className={shared["sentLine"]}>
          <Trans>left out</Trans>
        </p>
      )}
    </section>
  );
}

function Filling({ draft, batch, mode, wrong, onChange }: InputFieldProps & { mode: InputMode; wrong: boolean }) {
  switch (mode) {
    case "cells":
      return <CellsInput draft={draft} batch={batch} onChange={onChange} />;
    case "grid":
      return <GridInput draft={draft} batch={batch} onChange={(cells) => onChange({ cells })} />;
    case "image":
      return <ImageInput draft={draft} batch={batch} onChange={onChange} />;
    case "file":
      return <FileInput draft={draft} onFile={(file) => onChange({ file })} />;
    case "sample":
      return <SampleInput draft={draft} onFill={(fill) => onChange({ fill })} />;
    case "paste":
      return (
        <textarea
          className={classes["paste"]}
          aria-label={t`Values of ${draft.name}`}
          aria-invalid={wrong}
          placeholder={
            draft.datatype === "BYTES"
              ? t`One text per line, or ["JSON", "list"]`
              : t`Nested JSON, or numbers from a sheet: commas, tabs or spaces`
          }
          spellCheck={false}
          value={draft.pasted}
          onChange={(event) => onChange({ pasted: event.currentTarget.value })}
        />
      );
  }
}

function Sizes({ draft, onChange }: Pick<InputFieldProps, "draft" | "onChange">) {
  const open = draft.dims.flatMap((size, axis) => (size < 0 ? [axis] : []));
  if (open.length === 0 || draft.mode === "image") return null;
  return (
    <div className={shared["sizes"]}>
      <Trans>Variable axes:</Trans>
      {open.map((axis) => (
        <label key={axis}>
          <Trans>axis {axis + 1} </Trans>
          <input
            className={shared["cell"]}
            inputMode="numeric"
            value={draft.sizes[axis] ?? ""}
            aria-label={t`Size of axis ${axis + 1} of ${draft.name}`}
            aria-invalid={!/^\d+$/.test((draft.sizes[axis] ?? "").trim())}
            onChange={(event) => onChange({ sizes: { ...draft.sizes, [axis]: event.currentTarget.value } })}
          />
        </label>
      ))}
    </div>
  );
}
