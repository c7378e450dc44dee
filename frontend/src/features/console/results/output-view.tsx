/** One output, in the way that was chosen for it last. */
import { t } from "@lingui/core/macro";
import { SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";
import { Chip } from "@/components/status";
import type { WireOutput } from "@/inference/socket/messages";
import { elementText } from "@/inference/tensor/datatypes";
import { shapeText } from "@/inference/tensor/shape";
import shared from "../console.module.css";
import classes from "./output-view.module.css";
import { ClassesView } from "./classes-view";
import { firstOf, outputTensor, type OutputTensor } from "./output-tensor";
import { HeatMap, PictureOf, TableOf, TextOf } from "./tensor-views";
import { VIEW_NAMES, viewsOf, type View } from "./views";

// The choice lasts as long as the tab: calling again shows the answer in the same way.
const chosen = new Map<string, View>();

interface OutputViewProps {
  output: WireOutput;
  labels: readonly string[] | null;
  of: string;
  /** Whose answer it is, where several stand side by side. */
  by?: string;
}

export function OutputView({ output, labels, of, by }: OutputViewProps) {
  const tensor = outputTensor(output);
  const views = useMemo(() => viewsOf(tensor, labels !== null), [tensor, labels]);
  const key = `${of} ${output.name}`;
  const [picked, setPicked] = useState<View | undefined>(chosen.get(key));
  const view = picked && views.includes(picked) ? picked : (views[0] ?? "values");
  return (
    <section className={shared["output"]} aria-label={by === undefined ? t`Output ${output.name}` : t`Output ${output.name} of ${by}`}>
      <div className={shared["outputHead"]}>
        <span className={shared["inputName"]}>{output.name}</span>
        <Chip mono>{output.datatype}</Chip>
        <span className="secondary">{shapeText(output.shape)}</span>
        <div className={classes["outputTools"]}>
          <SegmentedControl
            aria-label={t`View of ${output.name}`}
            value={view}
            data={views.map((value) => ({ value, label: VIEW_NAMES[value] }))}
            onChange={(next) => {
              chosen.set(key, next as View);
              setPicked(next as View);
            }}
          />
        </div>
      </div>
      {view === "classes" ? <ClassesView tensor={tensor} labels={labels} /> : null}
      {view === "values" ? <TableOf tensor={tensor} /> : null}
      {view === "heat" ? <HeatMap tensor={tensor} /> : null}
      {view === "picture" ? <PictureOf tensor={tensor} /> : null}
      {view === "text" ? <TextOf tensor={tensor} /> : null}
      {view === "json" ? <Raw tensor={tensor} /> : null}
    </section>
  );
}

const JSON_CHARS = 200_000;
const JSON_VALUES = 10_000;

function Raw({ tensor }: { tensor: OutputTensor }) {
  const data = firstOf(tensor.elements, JSON_VALUES)
    .map((value) => (value instanceof Uint8Array ? elementText(value) : typeof value === "bigint" ? String(value) : value))
    .map((value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value));
  const { name, datatype, shape } = tensor;
  return (
    <pre className={shared["raw"]} tabIndex={0} aria-label={t`${name} as JSON`} role="region">
      {JSON.stringify({ name, datatype, shape, data }, null, 1).slice(0, JSON_CHARS)}
    </pre>
  );
}
