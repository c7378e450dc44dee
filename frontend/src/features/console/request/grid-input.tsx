/** A tensor as an editable table; a block copied from a sheet program is pasted at the chosen cell. */
import { t } from "@lingui/core/macro";
import { Plural, Trans } from "@lingui/react/macro";
import { useState } from "react";
import { CopyButton } from "@/components/copy";
import { LeadingAxes } from "../sheet/leading-axes";
import { SheetView } from "../sheet/sheet-view";
import { parseElement } from "@/inference/tensor/datatypes";
import { pasteSheet, readSheet, sheetOf, sheetOffset, sheetText } from "@/inference/tensor/grid";
import classes from "../console.module.css";
import { cellsOf, expectedShape, type Batch, type InputDraft } from "./input-draft";

export interface GridInputProps {
  draft: InputDraft;
  batch: Batch;
  onChange: (cells: string[]) => void;
}

export function GridInput({ draft, batch, onChange }: GridInputProps) {
  const [place, setPlace] = useState<number[]>([]);
  const [lost, setLost] = useState(0);
  const sheet = sheetOf(expectedShape(draft, batch));
  const offset = sheetOffset(sheet, place);
  const cells = cellsOf(draft, batch);
  const at = (row: number, column: number) => offset + row * sheet.columns + column;
  return (
    <div>
      <LeadingAxes sheet={sheet} place={place} onPlace={setPlace} batched={batch.on} />
      <SheetView
        label={t`Table of ${draft.name}`}
        rows={sheet.rows}
        columns={sheet.columns}
        wide={draft.datatype === "BYTES"}
        value={(row, column) => cells[at(row, column)] ?? ""}
        problem={(row, column) => parseElement(draft.datatype, cells[at(row, column)] ?? "").error}
        onEdit={(row, column, text) => onChange(cells.map((cell, index) => (index === at(row, column) ? text : cell)))}
        onPaste={(row, column, text) => {
          const pasted = pasteSheet(cells, sheet, offset, { row, column }, readSheet(text));
          setLost(pasted.lost);
          onChange(pasted.cells);
        }}
      />
      <p className={classes["sentLine"]}>
        <Trans>Type over a cell, or paste a block copied from a sheet.</Trans>
        <CopyButton text={sheetText(cells, sheet, offset)} label={t`table of ${draft.name}`} />
        {lost > 0 ? (
          <span role="status">
            <Plural
              value={lost}
              one="# pasted value reached over the edge and was left out."
              other="# pasted values reached over the edge and were left out."
            />
          </span>
        ) : null}
      </p>
    </div>
  );
}
