/** One item of a batch as class scores. */
import { t } from "@lingui/core/macro";
import { NumberInput, SegmentedControl, Switch } from "@mantine/core";
import { useMemo, useState } from "react";
import classes from "../console.module.css";
import { AllClasses, BestClasses } from "./class-bars";
import { areProbabilities, softmax } from "./class-scores";
import { numbersOf, type OutputTensor } from "./output-tensor";

const HOW_MANY = [
  { value: "5", label: t`Top 5` },
  { value: "10", label: "10" },
  { value: "all", label: t`All` },
];

export function ClassesView({ tensor, labels }: { tensor: OutputTensor; labels: readonly string[] | null }) {
  const [wanted, setWanted] = useState(0);
  const [top, setTop] = useState("5");
  const [normalise, setNormalise] = useState(false);
  const items = tensor.shape.length === 2 ? (tensor.shape[0] ?? 1) : 1;
  const width = tensor.shape.at(-1) ?? 0;
  const item = Math.min(wanted, items - 1);
  const row = useMemo(() => numbersOf(tensor.elements, item * width, width), [tensor, item, width]);
  const already = useMemo(() => areProbabilities(row), [row]);
  const values = useMemo(() => (normalise && !already ? softmax(row) : row), [normalise, already, row]);
  const shown = { values, labels, probabilities: already || normalise };
  return (
    <>
      <div className={classes["stats"]} style={{ alignItems: "center" }}>
        {items > 1 ? (
          <NumberInput
            aria-label={t`Item of the batch, 0 to ${items - 1}`}
            prefix={`${t`item`} `}
            w={110}
            min={0}
            max={items - 1}
            clampBehavior="strict"
            value={item}
            onChange={(value) => typeof value === "number" && setWanted(value)}
          />
        ) : null}
        <SegmentedControl aria-label={t`How many classes`} value={top} onChange={setTop} data={HOW_MANY} />
        {already ? null : <Switch label={t`Softmax`} checked={normalise} onChange={(event) => setNormalise(event.currentTarget.checked)} />}
      </div>
      {top === "all" ? <AllClasses {...shown} /> : <BestClasses {...shown} few={Number(top)} />}
    </>
  );
}
