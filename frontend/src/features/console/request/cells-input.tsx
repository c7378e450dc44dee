/** One field per element: switches, numbers or texts, a row per item of the batch. */
import { Switch } from "@mantine/core";
import { datatypeInfo, parseElement } from "../tensor/datatypes";
import classes from "../console.module.css";
import { cellsOf, itemCount, type Batch, type InputDraft } from "./input-draft";

export interface CellsInputProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (cells: string[]) => void;
}

export function CellsInput({ draft, batch, onChange }: CellsInputProps) {
  const perItem = itemCount(draft) ?? 0;
  const cells = cellsOf(draft, batch);
  const rows = batch.on ? batch.size : 1;
  const { kind } = datatypeInfo(draft.datatype);
  const set = (index: number, text: string) => onChange(cells.map((cell, at) => (at === index ? text : cell)));
  return (
    <div className={classes["rows"]}>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={classes["row"]}>
          {rows > 1 ? <span className={classes["rowLabel"]}>{row}</span> : null}
          <div className={`${classes["cells"]} ${kind === "bytes" || perItem === 1 ? classes["cellsWide"] : ""}`}>
            {Array.from({ length: perItem }, (_, column) => {
              const index = row * perItem + column;
              const label = `${draft.name}${rows > 1 ? `, item ${row}` : ""}${perItem > 1 ? `, value ${column}` : ""}`;
              return (
                <Cell
                  key={column}
                  kind={kind}
                  label={label}
                  datatype={draft.datatype}
                  value={cells[index] ?? ""}
                  short={perItem > 1 ? String(column) : ""}
                  onChange={(text) => set(index, text)}
                />
              );
            })}
          </div>
        </div>
      ))}
    </div>
  );
}

interface CellProps {
  kind: "bool" | "integer" | "float" | "bytes";
  label: string;
  short: string;
  datatype: string;
  value: string;
  onChange: (text: string) => void;
}

function Cell({ kind, label, short, datatype, value, onChange }: CellProps) {
  if (kind === "bool") {
    const on = parseElement("BOOL", value).value === true;
    return (
      <span className={classes["check"]}>
        <Switch
          aria-label={label}
          checked={on}
          onChange={(event) => onChange(String(event.currentTarget.checked))}
          label={short || (on ? "true" : "false")}
        />
      </span>
    );
  }
  if (kind === "bytes") {
    return (
      <textarea
        className={classes["cell"]}
        aria-label={label}
        rows={2}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        placeholder="Text"
      />
    );
  }
  const { error } = parseElement(datatype, value);
  return (
    <input
      className={classes["cell"]}
      aria-label={label}
      aria-invalid={error !== null}
      title={error ?? undefined}
      inputMode={kind === "integer" ? "numeric" : "decimal"}
      autoComplete="off"
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
    />
  );
}
