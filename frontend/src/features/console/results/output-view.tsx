/** One output: as classes, as values, or as the JSON that came. */
import { SegmentedControl, Select, Switch } from "@mantine/core";
import { useState } from "react";
import { CopyButton } from "@/components/copy";
import { count, significant } from "@/components/format";
import { Chip } from "@/components/status";
import type { WireOutput } from "../socket/console-socket";
import { shapeText } from "../tensor/shape";
import classes from "../console.module.css";
import { areProbabilities, classRow, isClassTensor, softmax, topClasses } from "./class-scores";
import { ClassBars } from "./class-bars";
import { OutputValues } from "./output-values";

type View = "classes" | "values" | "json";

const numbers = (data: WireOutput["data"]): number[] =>
  data.map((value) => (value === null ? Number.NaN : Number(value)));

export function OutputView({ output, labels }: { output: WireOutput; labels: readonly string[] | null }) {
  const classy = isClassTensor(output.datatype, output.shape) && !output.truncated;
  const [view, setView] = useState<View>(classy ? "classes" : "values");
  const shown = view === "classes" && !classy ? "values" : view;
  return (
    <section className={classes["output"]} aria-label={`Output ${output.name}`}>
      <div className={classes["outputHead"]}>
        <span className={classes["inputName"]}>{output.name}</span>
        <Chip mono>{output.datatype}</Chip>
        <span className="secondary">{shapeText(output.shape)}</span>
        <div className={classes["outputTools"]}>
          <SegmentedControl
            aria-label={`View of ${output.name}`}
            value={shown}
            data={[
              ...(classy ? [{ value: "classes" as const, label: "Classes" }] : []),
              { value: "values" as const, label: "Values" },
              { value: "json" as const, label: "JSON" },
            ]}
            onChange={setView}
          />
        </div>
      </div>
      {shown === "classes" ? (
        <Classes output={output} labels={labels} />
      ) : shown === "values" ? (
        <Values output={output} />
      ) : (
        <Raw output={output} />
      )}
    </section>
  );
}

function Classes({ output, labels }: { output: WireOutput; labels: readonly string[] | null }) {
  const [item, setItem] = useState(0);
  const [top, setTop] = useState("5");
  const [normalise, setNormalise] = useState(false);
  const items = output.shape.length === 2 ? (output.shape[0] ?? 1) : 1;
  const row = classRow(numbers(output.data), output.shape, Math.min(item, items - 1));
  const already = areProbabilities(row);
  const values = normalise && !already ? softmax(row) : row;
  return (
    <>
      <div className={classes["stats"]} style={{ alignItems: "center" }}>
        {items > 1 ? (
          <Select
            aria-label="Item of the batch"
            w={110}
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

function Values({ output }: { output: WireOutput }) {
  const { stats } = output;
  const numeric = output.datatype !== "BYTES" && output.datatype !== "BOOL";
  const unset = numeric ? numbers(output.data).filter(Number.isNaN).length : 0;
  const csv = output.data.map(String).join("\n");
  return (
    <>
      <div className={classes["stats"]}>
        {(["min", "max", "mean"] as const).map((key) =>
          stats === null ? null : (
            <span key={key}>
              {key} <strong>{stats[key] === null ? "–" : significant(Number(stats[key]))}</strong>
            </span>
          ),
        )}
        {unset > 0 ? (
          <span>
            NaN <strong>{count(unset)}</strong>
          </span>
        ) : null}
        <span>
          values <strong>{count(output.shape.reduce((product, axis) => product * axis, 1))}</strong>
        </span>
        {output.truncated ? <span>the first {count(output.data.length)} were sent here</span> : null}
        <span style={{ marginLeft: "auto" }}>
          <CopyButton text={csv} label="values as CSV" />
        </span>
      </div>
      <OutputValues output={output} />
    </>
  );
}

function Raw({ output }: { output: WireOutput }) {
  return (
    <pre className={classes["raw"]} tabIndex={0} aria-label={`${output.name} as JSON`} role="region">
      {JSON.stringify(
        { name: output.name, datatype: output.datatype, shape: output.shape, data: output.data },
        null,
        1,
      ).slice(0, 200_000)}
    </pre>
  );
}
