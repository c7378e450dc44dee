/** One field per element: switches, numbers, sliders or texts, a row per item of the batch. */
import { plural, t } from "@lingui/core/macro";
import { Checkbox, Slider, Switch } from "@mantine/core";
import { datatypeInfo, parseElement } from "@/inference/tensor/datatypes";
import shared from "../console.module.css";
import classes from "./cells-input.module.css";
import { cellsOf, itemCount, type Batch, type InputDraft } from "./input-draft";

export interface CellsInputProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (part: Partial<InputDraft>) => void;
}

export function CellsInput({ draft, batch, onChange }: CellsInputProps) {
  const perItem = itemCount(draft) ?? 0;
  const cells = cellsOf(draft, batch);
  const rows = batch.on ? batch.size : 1;
  const { kind } = datatypeInfo(draft.datatype);
  const set = (index: number, text: string) => onChange({ cells: cells.map((cell, at) => (at === index ? text : cell)) });
  const wide = kind === "bytes" || perItem === 1;
  return (
    <>
      <div className={classes["rows"]}>
        {Array.from({ length: rows }, (_, row) => (
          <div key={row} className={classes["row"]}>
            {rows > 1 ? <span className={classes["rowLabel"]}>{row}</span> : null}
            <div className={`${classes["cells"]} ${wide ? classes["cellsWide"] : draft.sliders ? classes["cellsSlider"] : ""}`}>
              {Array.from({ length: perItem }, (_, column) => {
                const index = row * perItem + column;
                const label = `${draft.name}${rows > 1 ? t`, item ${row}` : ""}${perItem > 1 ? t`, value ${column}` : ""}`;
                return (
                  <Cell
                    key={column}
                    label={label}
                    datatype={draft.datatype}
                    value={cells[index] ?? ""}
                    short={perItem > 1 ? String(column) : ""}
                    slider={draft.sliders && kind === "float"}
                    onChange={(text) => set(index, text)}
                  />
                );
              })}
            </div>
          </div>
        ))}
      </div>
      {kind === "float" ? (
        <Switch
          mt={8}
          size="xs"
          label={t`Sliders from 0 to 1`}
          aria-label={t`Sliders from 0 to 1 for ${draft.name}`}
          checked={draft.sliders}
          onChange={(event) => onChange({ sliders: event.currentTarget.checked })}
        />
      ) : null}
    </>
  );
}

interface CellProps {
  label: string;
  /** Its number in a row of several; "" alone. */
  short: string;
  datatype: string;
  value: string;
  slider: boolean;
  onChange: (text: string) => void;
}

function Cell({ label, short, datatype, value, slider, onChange }: CellProps) {
  const { kind, min, max } = datatypeInfo(datatype);
  if (kind === "bool") return <Flag label={label} short={short} value={value} onChange={onChange} />;
  if (kind === "bytes") return <TextCell label={label} alone={short === ""} value={value} onChange={onChange} />;
  const { error, value: parsed } = parseElement(datatype, value);
  const field = (
    <input
      className={shared["cell"]}
      aria-label={label}
      aria-invalid={error !== null}
      title={error ?? (kind === "integer" ? t`${datatype}: ${String(min)} to ${String(max)}` : undefined)}
      inputMode={kind === "integer" ? "numeric" : "decimal"}
      autoComplete="off"
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
    />
  );
  if (!slider) return field;
  return (
    <span className={classes["sliderCell"]}>
      <Slider
        size="xs"
        min={0}
        max={1}
        step={0.01}
        label={null}
        thumbLabel={t`${label}, slider`}
        value={Math.min(1, Math.max(0, Number(parsed) || 0))}
        onChange={(next) => onChange(String(next))}
      />
      {field}
    </span>
  );
}

function Flag({ label, short, value, onChange }: Omit<CellProps, "datatype" | "slider">) {
  const on = parseElement("BOOL", value).value === true;
  const change = (event: { currentTarget: HTMLInputElement }) => onChange(String(event.currentTarget.checked));
  return (
    <span className={classes["check"]}>
      {short === "" ? (
        <Switch aria-label={label} checked={on} onChange={change} label={on ? "true" : "false"} />
      ) : (
        <Checkbox aria-label={label} checked={on} onChange={change} label={short} size="xs" />
      )}
    </span>
  );
}

const encoder = new TextEncoder();

function TextCell({ label, alone, value, onChange }: { label: string; alone: boolean; value: string; onChange: (text: string) => void }) {
  if (!alone) {
    return (
      <input
        className={shared["cell"]}
        aria-label={label}
        value={value}
        placeholder={t`Text`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <span>
      <textarea
        className={shared["cell"]}
        aria-label={label}
        rows={3}
        value={value}
        placeholder={t`Text`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <span className={classes["counter"]}>
        {plural([...value].length, { one: "# character", other: "# characters" })},{" "}
        {plural(encoder.encode(value).length, { one: "# byte", other: "# bytes" })}
      </span>
    </span>
  );
}
