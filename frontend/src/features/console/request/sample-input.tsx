/** Data made in the browser: which, between what, and from which seed. */
import { t } from "@lingui/core/macro";
import { NumberInput, Select } from "@mantine/core";
import { datatypeInfo } from "@/inference/tensor/datatypes";
import { FILL_LABELS, FILLS, newFill, type Fill } from "@/inference/tensor/samples";
import classes from "../console.module.css";
import type { InputDraft } from "./input-draft";

const NAMES = { uniform: [t`From`, t`To`], normal: [t`Mean`, t`Deviation`] } as const;

export function SampleInput({ draft, onFill }: { draft: InputDraft; onFill: (fill: Fill) => void }) {
  const { fill } = draft;
  const { kind } = datatypeInfo(draft.datatype);
  const names = fill.kind === "uniform" || fill.kind === "normal" ? NAMES[fill.kind] : null;
  const random = names !== null || fill.kind === "uniform";
  const set = (part: Partial<Fill>) => onFill({ ...fill, ...part });
  const field = (label: string, value: number, change: (value: number) => void) => (
    <NumberInput label={label} w={104} value={value} onChange={(next) => typeof next === "number" && change(next)} />
  );
  return (
    <div className={classes["bar"]}>
      <Select
        label={t`Fill ${draft.name} with`}
        w={164}
        allowDeselect={false}
        value={fill.kind}
        data={FILLS.map((value) => ({ value, label: FILL_LABELS[value] }))}
        onChange={(value) => value && onFill(newFill(value, draft.datatype, fill.seed))}
      />
      {names && (kind === "integer" || kind === "float") ? (
        <>
          {field(names[0], fill.a, (a) => set({ a }))}
          {field(names[1], fill.b, (b) => set({ b }))}
        </>
      ) : null}
      {random ? field(t`Seed`, fill.seed, (seed) => set({ seed: Math.abs(Math.trunc(seed)) })) : null}
    </div>
  );
}
