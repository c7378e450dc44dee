/** One input of the model: its name and type, the ways to fill it, and what will be sent. */
import { SegmentedControl, Switch } from "@mantine/core";
import { bytes, shape } from "@/components/format";
import { Chip } from "@/components/status";
import { shapeText } from "../tensor/shape";
import classes from "../console.module.css";
import { CellsInput } from "./cells-input";
import { ImageInput } from "./image-input";
import {
  buildInput,
  isUntouched,
  layoutOf,
  modeOf,
  modesOf,
  type Batch,
  type InputDraft,
  type InputMode,
} from "./input-draft";

export interface InputFieldProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (part: Partial<InputDraft>) => void;
}

const MODES: Record<InputMode, string> = { cells: "Values", paste: "Paste", image: "Picture", sample: "Sample" };

export function InputField({ draft, batch, onChange }: InputFieldProps) {
  const modes = modesOf(draft, batch);
  const mode = modeOf(draft, batch);
  const layout = layoutOf(draft);
  const built = draft.include ? buildInput(draft, batch) : null;
  const untouched = isUntouched(draft, batch);
  const tone = built && !built.ok && !untouched ? "error" : undefined;
  return (
    <section className={classes["section"]} aria-label={`Input ${draft.name}`}>
      <div className={classes["inputHead"]}>
        <span className={classes["inputName"]}>{draft.name}</span>
        <Chip mono>{draft.datatype}</Chip>
        <span className="secondary">{shape(draft.dims)}</span>
        {draft.optional ? (
          <Switch
            label="Include"
            aria-label={`Include ${draft.name}`}
            checked={draft.include}
            onChange={(event) => onChange({ include: event.currentTarget.checked })}
          />
        ) : null}
        {draft.include && modes.length > 1 ? (
          <SegmentedControl
            className={classes["inputModes"] ?? ""}
            aria-label={`How to fill ${draft.name}`}
            value={mode}
            data={modes.map((value) => ({ value, label: MODES[value] }))}
            onChange={(next) => onChange({ mode: next })}
          />
        ) : null}
      </div>
      {draft.include ? (
        <>
          {mode === "image" ? null : <Sizes draft={draft} onChange={onChange} />}
          {mode === "cells" ? (
            <CellsInput draft={draft} batch={batch} onChange={(cells) => onChange({ cells })} />
          ) : null}
          {mode === "image" && layout ? (
            <ImageInput draft={draft} layout={layout} onPicture={(picture) => onChange({ picture })} />
          ) : null}
          {mode === "sample" ? (
            <p className={classes["sentLine"]}>
              {draft.sample === "zeros" ? "All zeros." : "Random values, made in the browser."} Paste or drop data to
              send your own.
            </p>
          ) : null}
          {mode === "paste" ? (
            <textarea
              className={classes["paste"]}
              aria-label={`Values of ${draft.name}`}
              aria-invalid={tone === "error"}
              placeholder={
                draft.datatype === "BYTES"
                  ? 'One text per line, or ["JSON", "list"]'
                  : "Nested JSON, or numbers from a sheet: commas, tabs or spaces"
              }
              spellCheck={false}
              value={draft.pasted}
              onChange={(event) => onChange({ pasted: event.currentTarget.value })}
            />
          ) : null}
          <p className={classes["sentLine"]} data-tone={tone}>
            {built?.ok
              ? `to send: ${shapeText(built.input.shape)}, ${draft.datatype}, ${bytes(built.input.bytes)}`
              : untouched
                ? "nothing to send yet"
                : built?.error}
          </p>
        </>
      ) : (
        <p className={classes["sentLine"]}>left out</p>
      )}
    </section>
  );
}

function Sizes({ draft, onChange }: Pick<InputFieldProps, "draft" | "onChange">) {
  const open = draft.dims.flatMap((size, axis) => (size < 0 ? [axis] : []));
  if (open.length === 0) return null;
  return (
    <div className={classes["sizes"]}>
      Variable axes:
      {open.map((axis) => (
        <label key={axis}>
          axis {axis + 1}{" "}
          <input
            className={classes["cell"]}
            inputMode="numeric"
            value={draft.sizes[axis] ?? ""}
            aria-invalid={!/^\d+$/.test((draft.sizes[axis] ?? "").trim())}
            onChange={(event) => onChange({ sizes: { ...draft.sizes, [axis]: event.currentTarget.value } })}
          />
        </label>
      ))}
    </div>
  );
}
