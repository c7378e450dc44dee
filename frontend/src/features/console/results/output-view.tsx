/** One output, in the way that was chosen for it last. */
import { SegmentedControl, Select, Switch } from "@mantine/core";
import { useState } from "react";
import { Chip } from "@/components/status";
import type { WireOutput } from "../socket/console-socket";
import { elementText } from "../tensor/datatypes";
import { shapeText } from "../tensor/shape";
import classes from "../console.module.css";
import { areProbabilities, classRow, isClassTensor, softmax, topClasses } from "./class-scores";
import { ClassBars } from "./class-bars";
import { isNumeric, numbersOf, outputTensor, type OutputTensor } from "./output-tensor";
import { pictureShape } from "./pixels";
import { HeatMap, PictureOf, picturesOf, TableOf, TextOf } from "./tensor-views";

type View = "classes" | "values" | "heat" | "picture" | "text" | "json";

const NAMES: Record<View, string> = {
  classes: "Classes",
  values: "Table",
  heat: "Heat-map",
  picture: "Picture",
  text: "Text",
  json: "JSON",
};

function viewsOf(tensor: OutputTensor): View[] {
  const { shape, datatype, complete } = tensor;
  const [rows = 1, columns = 1] = shape.slice(-2);
  const isSheet = shape.length >= 2 && rows >= 2 && columns >= 2;
  return [
    ...(isClassTensor(datatype, shape) && complete ? (["classes"] as const) : []),
    ...((isNumeric(datatype) && complete && pictureShape(shape, datatype)) || picturesOf(tensor).length > 0
      ? (["picture"] as const)
      : []),
    ...(datatype === "BYTES" ? (["text"] as const) : []),
    "values",
    ...(isNumeric(datatype) && isSheet && complete ? (["heat"] as const) : []),
    "json",
  ];
}

// The choice lasts as long as the tab: calling again shows the answer in the same way.
const chosen = new Map<string, View>();

export function OutputView({ output, labels, of }: { output: WireOutput; labels: readonly string[] | null; of: string }) {
  const tensor = outputTensor(output);
  const views = viewsOf(tensor);
  const key = `${of} ${output.name}`;
  const [picked, setPicked] = useState<View | undefined>(chosen.get(key));
  const view = picked && views.includes(picked) ? picked : (views[0] ?? "values");
  return (
    <section className={classes["output"]} aria-label={`Output ${output.name}`}>
      <div className={classes["outputHead"]}>
        <span className={classes["inputName"]}>{output.name}</span>
        <Chip mono>{output.datatype}</Chip>
        <span className="secondary">{shapeText(output.shape)}</span>
        <div className={classes["outputTools"]}>
          <SegmentedControl
            aria-label={`View of ${output.name}`}
            value={view}
            data={views.map((value) => ({ value, label: NAMES[value] }))}
            onChange={(next) => {
              chosen.set(key, next as View);
              setPicked(next as View);
            }}
          />
        </div>
      </div>
      {view === "classes" ? <Classes tensor={tensor} labels={labels} /> : null}
      {view === "values" ? <TableOf tensor={tensor} /> : null}
      {view === "heat" ? <HeatMap tensor={tensor} /> : null}
      {view === "picture" ? <PictureOf tensor={tensor} /> : null}
      {view === "text" ? <TextOf tensor={tensor} /> : null}
      {view === "json" ? <Raw tensor={tensor} /> : null}
    </section>
  );
}

function Classes({ tensor, labels }: { tensor: OutputTensor; labels: readonly string[] | null }) {
  const [item, setItem] = useState(0);
  const [top, setTop] = useState("5");
  const [normalise, setNormalise] = useState(false);
  const items = tensor.shape.length === 2 ? (tensor.shape[0] ?? 1) : 1;
  const row = classRow(Array.from(numbersOf(tensor.elements)), tensor.shape, Math.min(item, items - 1));
  const already = areProbabilities(row);
  const values = normalise && !already ? softmax(row) : row;
  return (
    <>
      <div className={classes["stats"]} style={{ alignItems: "center" }}>
        {items > 1 ? (
          <Select
            aria-label="Item of the batch"
            w={110}
            allowDeselect={false}
            value={String(Math.min(item, items - 1))}
            data={Array.from({ length: items }, (_, index) => ({ value: String(index), label: `item ${index}` }))}
            onChange={(value) => setItem(Number(value))}
          />
        ) : null}
        <SegmentedControl
          aria-label="How many classes"
          value={top}
          onChange={setTop}
          data={[
            { value: "5", label: "Top 5" },
            { value: "10", label: "10" },
            { value: "all", label: "All" },
          ]}
        />
        {already ? null : (
          <Switch label="Softmax" checked={normalise} onChange={(event) => setNormalise(event.currentTarget.checked)} />
        )}
      </div>
      <ClassBars
        scores={topClasses(values, labels, top === "all" ? values.length : Number(top))}
        probabilities={already || normalise}
      />
    </>
  );
}

const JSON_CHARS = 200_000;
const JSON_VALUES = 10_000;

function Raw({ tensor }: { tensor: OutputTensor }) {
  const data = Array.from(tensor.elements)
    .slice(0, JSON_VALUES)
    .map((value) => (value instanceof Uint8Array ? elementText(value) : typeof value === "bigint" ? String(value) : value))
    .map((value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value));
  const { name, datatype, shape } = tensor;
  return (
    <pre className={classes["raw"]} tabIndex={0} aria-label={`${name} as JSON`} role="region">
      {JSON.stringify({ name, datatype, shape, data }, null, 1).slice(0, JSON_CHARS)}
    </pre>
  );
}
