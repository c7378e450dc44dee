/** The picture that was sent, with what the model found in it: masks, heat-maps, boxes. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Select, Slider } from "@mantine/core";
import { useMemo } from "react";
import type { ConsoleModel } from "@/api/types";
import { type Column, DataTable } from "@/components/data-table";
import { count, percent, significant } from "@/components/format";
import shared from "../console.module.css";
import classes from "./overlay-card.module.css";
import { classLabel } from "../results/class-scores";
import type { CallRecord } from "../results/outcome";
import { BoxSettings } from "./box-settings";
import type { Box } from "./box";
import { classColour, cssColour } from "./colours";
import { MaskSettings } from "./mask-settings";
import { OverlayPicture } from "./overlay-picture";
import { layersOf, useOverlay, type Layers } from "./use-overlay";

export interface OverlayProps {
  record: CallRecord;
  model: ConsoleModel | null;
}

const DRAWN = 200;
const LISTED = 100;
const LEGEND = 12;

export function Overlay({ record, model }: OverlayProps) {
  const layers = useMemo(() => layersOf(record, model), [record, model]);
  return layers ? <OverlayOf record={record} model={model} layers={layers} /> : null;
}

/** What lies over the picture; null where nothing does. */
function overWords(mask: string | null, boxes: number | null): string | null {
  if (boxes === null) return mask;
  const told = plural(boxes, { one: "# box", other: "# boxes" });
  return mask === null ? told : t`${mask} and ${told}`;
}

function OverlayOf({ record, model, layers }: OverlayProps & { layers: Layers }) {
  const view = useOverlay(layers, record.model, model);
  const { choice, change, picture, frame, item, shown, painted, kept } = view;
  if (!picture || !frame) return null;
  const mask = shown && painted ? { ...shown.shape, pixels: painted.pixels } : null;
  const nameOf = (id: number) => classLabel(view.boxLabels, id);
  const over = overWords(mask ? (shown?.tensor.name ?? null) : null, choice.mapping ? kept.length : null);
  return (
    <section className={shared["output"]} aria-label={t`Over the picture`}>
      <div className={shared["outputHead"]}>
        <span className={classes["overlayTitle"]}>
          <Trans>Over the picture</Trans>
        </span>
        <span className="secondary">{over ?? t`choose a mask or boxes`}</span>
      </div>
      <div className={classes["overlayColumns"]}>
        <OverlayPicture
          label={over === null ? t`${picture.name} with nothing over it` : t`${picture.name} with ${over}`}
          picture={frame}
          mask={mask}
          opacity={choice.mask.opacity}
          boxes={kept.slice(0, DRAWN)}
          nameOf={nameOf}
        />
        <div className={shared["overlaySettings"]}>
          {layers.pictures.length > 1 ? (
            <Select
              label={t`Picture`}
              allowDeselect={false}
              value={String(view.at.input)}
              data={layers.pictures.map(({ name }, index) => ({ value: String(index), label: name }))}
              onChange={(value) => view.setAt({ input: Number(value), item: 0 })}
            />
          ) : null}
          {picture.count > 1 ? (
            <NumberInput
              label={t`Item of the batch (0 to ${picture.count - 1})`}
              min={0}
              max={picture.count - 1}
              value={item}
              onChange={(value) => typeof value === "number" && view.setAt({ ...view.at, item: value })}
            />
          ) : null}
          <MaskSettings masks={layers.masks} choice={choice.mask} onChoice={(part) => change({ mask: { ...choice.mask, ...part } })} />
          <BoxSettings
            tensors={layers.tensors}
            batched={layers.batched}
            mapping={choice.mapping}
            onMapping={(mapping) => change({ mapping })}
          />
          {view.boxes.some(({ score }) => score !== null) ? (
            <div>
              <NumberInput
                label={t`Least score`}
                description={t`${count(kept.length)} of ${count(view.boxes.length)} boxes`}
                step={0.05}
                value={choice.leastScore}
                onChange={(value) => typeof value === "number" && change({ leastScore: value })}
              />
              <Slider
                mt={8}
                min={0}
                max={1}
                step={0.01}
                size={4}
                thumbSize={16}
                label={null}
                thumbLabel={t`Least score, 0 to 1`}
                value={choice.leastScore}
                onChange={(leastScore) => change({ leastScore })}
              />
            </div>
          ) : null}
          {view.search === "searching" ? (
            <p role="status">
              <Trans>Looking for boxes</Trans>
            </p>
          ) : null}
          {view.search === "failed" ? (
            <p role="alert">
              <Trans>The boxes could not be chosen: this browser stopped the worker that does it.</Trans>
            </p>
          ) : null}
        </div>
      </div>
      <Legend found={painted?.found ?? []} labels={view.maskLabels} />
      {kept.length > 0 ? <BoxTable boxes={kept} picture={frame} nameOf={nameOf} /> : null}
    </section>
  );
}

/** The classes of the mask, with their share of the picture. */
function Legend({ found, labels }: { found: readonly { id: number; share: number }[]; labels: readonly string[] | null }) {
  if (found.length === 0) return null;
  return (
    <ul className={shared["legend"]} aria-label={t`Classes of the mask`}>
      {found.slice(0, LEGEND).map(({ id, share }) => (
        <li key={id}>
          <i style={{ background: cssColour(classColour(id)) }} />
          <span>{labels?.[id] ?? t`class ${id}`}</span>
          <strong>{percent(share)}</strong>
        </li>
      ))}
      {found.length > LEGEND ? (
        <li className="secondary">
          <Trans>and {count(found.length - LEGEND)} more</Trans>
        </li>
      ) : null}
    </ul>
  );
}

interface BoxTableProps {
  boxes: readonly Box[];
  picture: { width: number; height: number };
  nameOf: (id: number) => string;
}

function BoxTable({ boxes, picture, nameOf }: BoxTableProps) {
  const px = (share: number, side: number) => Math.round(share * side);
  const columns: Column<Box & { number: number }>[] = [
    { id: "class", header: t`Class`, cell: ({ classId }) => (classId === null ? "–" : nameOf(classId)) },
    { id: "score", header: t`Score`, align: "right", cell: ({ score }) => (score === null ? "–" : significant(score)) },
    { id: "at", header: t`Left, top`, align: "right", cell: ({ x, y }) => `${px(x, picture.width)}, ${px(y, picture.height)}` },
    {
      id: "size",
      header: t`Size in pixels`,
      align: "right",
      cell: ({ width, height }) => `${px(width, picture.width)} × ${px(height, picture.height)}`,
    },
  ];
  return (
    <>
      <DataTable
        compact
        label={t`Boxes`}
        columns={columns}
        rows={boxes.slice(0, LISTED).map((box, number) => ({ ...box, number }))}
        rowKey={(row) => String(row.number)}
      />
      {boxes.length > LISTED ? (
        <p className="secondary">
          <Trans>
            The best {LISTED} of {count(boxes.length)}; all are in the outputs below.
          </Trans>
        </p>
      ) : null}
    </>
  );
}
