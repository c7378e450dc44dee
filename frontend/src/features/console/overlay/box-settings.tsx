/** Which outputs hold boxes, scores and classes, and how: guessed, and for the person to correct. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Checkbox, Select } from "@mantine/core";
import type { OutputTensor } from "../results/output-tensor";
import shared from "../console.module.css";
import classes from "./box-settings.module.css";
import type { RawLayout } from "./raw-boxes";
import { besideBoxes, boxCandidates, FORMATS, mappingFor, type BoxFormat, type BoxMapping, type BoxUnit } from "./boxes";

export interface BoxSettingsProps {
  tensors: readonly OutputTensor[];
  batched: boolean;
  mapping: BoxMapping | null;
  onMapping: (mapping: BoxMapping | null) => void;
}

const formats = Object.entries(FORMATS).map(([value, label]) => ({ value, label }));
const UNITS = [
  { value: "pixels", label: t`pixels of the picture` },
  { value: "share", label: t`shares, 0 to 1` },
];

export function BoxSettings({ tensors, batched, mapping, onMapping }: BoxSettingsProps) {
  const candidates = boxCandidates(tensors, batched);
  const source = candidates.find(({ name }) => name === mapping?.boxes);
  const beside = source ? besideBoxes(tensors, batched, source).map(({ name }) => name) : [];
  const choose = (name: string | null) => {
    const tensor = candidates.find((one) => one.name === name);
    onMapping(tensor ? mappingFor(tensor, tensors, batched) : null);
  };
  const change = (part: Partial<BoxMapping>) => mapping && onMapping({ ...mapping, ...part });
  if (candidates.length === 0) return null;
  return (
    <>
      <Select
        label={t`Boxes`}
        placeholder={t`none`}
        clearable
        value={mapping?.boxes ?? null}
        data={candidates.map(({ name }) => name)}
        onChange={choose}
      />
      {mapping?.raw ? <RawSettings mapping={mapping} raw={mapping.raw} change={change} /> : null}
      {mapping && !mapping.raw ? (
        <details className={classes["boxDetails"]}>
          <summary>
            <Trans>How they are read</Trans>
          </summary>
          <div className={shared["overlaySettings"]}>
            <Select
              label={t`Numbers of a box`}
              allowDeselect={false}
              value={mapping.format}
              data={formats}
              onChange={(format) => format && change({ format: format as BoxFormat })}
            />
            <Select
              label={t`Measured in`}
              allowDeselect={false}
              value={mapping.unit}
              data={UNITS}
              onChange={(unit) => unit && change({ unit: unit as BoxUnit })}
            />
            <Select
              label={t`Scores`}
              placeholder={t`none, or in the row`}
              clearable
              value={mapping.scores}
              data={beside}
              onChange={(scores) => change({ scores })}
            />
            <Select
              label={t`Classes`}
              placeholder={t`none, or in the row`}
              clearable
              value={mapping.classes}
              data={beside}
              onChange={(next) => change({ classes: next })}
            />
          </div>
        </details>
      ) : null}
    </>
  );
}

interface RawSettingsProps {
  mapping: BoxMapping;
  raw: RawLayout;
  change: (part: Partial<BoxMapping>) => void;
}

/** Of guesses per anchor: what follows the four numbers of a box. */
function RawSettings({ mapping, raw, change }: RawSettingsProps) {
  return (
    <details className={classes["boxDetails"]}>
      <summary>
        <Trans>
          {raw.anchors} guesses of {raw.numbers} numbers
        </Trans>
      </summary>
      <div className={shared["overlaySettings"]}>
        <p className="secondary">
          <Trans>Centre, size and scores of each; of those that lie over each other the best is shown.</Trans>
        </p>
        <Select
          label={t`Measured in`}
          allowDeselect={false}
          value={mapping.unit}
          data={UNITS}
          onChange={(unit) => unit && change({ unit: unit as BoxUnit })}
        />
        <Checkbox
          label={t`The fifth number is no class, but how sure it is that there is something`}
          checked={raw.objectness}
          onChange={(event) => change({ raw: { ...raw, objectness: event.currentTarget.checked } })}
        />
      </div>
    </details>
  );
}
