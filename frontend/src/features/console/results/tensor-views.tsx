/** The ways to look at an output: table, heat-map, picture, text, JSON. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput } from "@mantine/core";
import { useEffect, useMemo, useState } from "react";
import { CopyButton } from "@/components/copy";
import { count, significant } from "@/components/format";
import { LeadingAxes } from "../sheet/leading-axes";
import { SheetView } from "../sheet/sheet-view";
import { elementText } from "@/inference/tensor/datatypes";
import { sheetOf, sheetOffset } from "@/inference/tensor/grid";
import shared from "../console.module.css";
import classes from "./tensor-views.module.css";
import { CanvasView } from "./canvas-view";
import { DownloadButton } from "@/components/download-button";
import { Histogram } from "./histogram";
import { csvOf, firstOf, isNumeric, numbersOf, type OutputTensor } from "./output-tensor";
import { npyBytes } from "@/inference/tensor/npy";
import { picturesOf } from "./views";
import { finiteRange, heatPixels, picturePixels, pictureScale, pictureShape, pictureType } from "./pixels";

const STATS = { min: t`min`, max: t`max`, mean: t`mean`, nan: "NaN", infinite: t`infinite` };

function Stats({ tensor }: { tensor: OutputTensor }) {
  const { stats } = tensor;
  const npy = tensor.complete ? () => npyBytes(tensor.datatype, tensor.shape, tensor.elements) : null;
  const total = tensor.shape.reduce((product, axis) => product * axis, 1);
  return (
    <div className={shared["stats"]}>
      {(["min", "max", "mean"] as const).map((key) =>
        total < 2 || stats === null || stats[key] === null ? null : (
          <span key={key}>
            {STATS[key]} <strong>{significant(Number(stats[key]))}</strong>
          </span>
        ),
      )}
      {(["nan", "infinite"] as const).map((key) =>
        stats && stats[key] > 0 ? (
          <span key={key}>
            {STATS[key]} <strong>{count(stats[key])}</strong>
          </span>
        ) : null,
      )}
      <span>
        <Trans>
          values <strong>{count(total)}</strong>
        </Trans>
      </span>
      {tensor.complete ? null : (
        <span>
          <Trans>the first {count(tensor.elements.length)} were sent here</Trans>
        </span>
      )}
      <span className={classes["tools"]}>
        <CopyButton text={() => csvOf(tensor)} label={t`${tensor.name} as CSV`} />
        <DownloadButton label="CSV" name={`${tensor.name}.csv`} type="text/csv" content={() => csvOf(tensor)} />
        {npy && tensor.datatype !== "BYTES" ? (
          <DownloadButton label=".npy" name={`${tensor.name}.npy`} type="application/octet-stream" content={npy} />
        ) : null}
      </span>
    </div>
  );
}

function useSheet(tensor: OutputTensor) {
  const [place, setPlace] = useState<number[]>([]);
  const sheet = sheetOf(tensor.shape);
  return { place, setPlace, sheet, offset: sheetOffset(sheet, place) };
}

export function TableOf({ tensor }: { tensor: OutputTensor }) {
  const { place, setPlace, sheet, offset } = useSheet(tensor);
  return (
    <>
      <Stats tensor={tensor} />
      <LeadingAxes sheet={sheet} place={place} onPlace={setPlace} />
      <SheetView
        label={t`Values of ${tensor.name}`}
        rows={sheet.rows}
        columns={sheet.columns}
        wide={tensor.datatype === "BYTES"}
        value={(row, column) => {
          const value = tensor.elements[offset + row * sheet.columns + column];
          return value === undefined ? (tensor.complete ? "" : "…") : elementText(value);
        }}
      />
      {isNumeric(tensor.datatype) && tensor.elements.length >= 8 ? <Histogram tensor={tensor} /> : null}
    </>
  );
}

export function HeatMap({ tensor }: { tensor: OutputTensor }) {
  const { place, setPlace, sheet, offset } = useSheet(tensor);
  const values = useMemo(() => numbersOf(tensor.elements, offset, sheet.rows * sheet.columns), [tensor, offset, sheet.rows, sheet.columns]);
  const range = useMemo(() => finiteRange(values), [values]);
  const pixels = useMemo(() => (range ? heatPixels(values, range) : null), [values, range]);
  return (
    <>
      <LeadingAxes sheet={sheet} place={place} onPlace={setPlace} />
      {pixels && range ? (
        <>
          <CanvasView
            label={t`Heat-map of ${tensor.name}`}
            width={sheet.columns}
            height={sheet.rows}
            pixels={pixels}
            tell={(row, column) => t`row ${row}, column ${column}: ${String(values[row * sheet.columns + column])}`}
          />
          <div className={classes["scale"]} aria-label={t`Colours from ${range.low} to ${range.high}`} role="img">
            <span>{significant(range.low)}</span>
            <i />
            <span>{significant(range.high)}</span>
          </div>
        </>
      ) : (
        <p className="muted">
          <Trans>No value here is a finite number.</Trans>
        </p>
      )}
    </>
  );
}

export function PictureOf({ tensor }: { tensor: OutputTensor }) {
  return tensor.datatype === "BYTES" ? <EncodedPictures tensor={tensor} /> : <DrawnPicture tensor={tensor} />;
}

function DrawnPicture({ tensor }: { tensor: OutputTensor }) {
  const [item, setItem] = useState(0);
  const shape = pictureShape(tensor.shape, tensor.datatype);
  const size = shape ? shape.height * shape.width * shape.layout.channels : 0;
  const at = Math.min(item, Math.max(0, (shape?.count ?? 1) - 1));
  const drawn = useMemo(() => {
    const wanted = pictureShape(tensor.shape, tensor.datatype);
    if (!wanted) return null;
    const values = numbersOf(tensor.elements, at * size, size);
    const scale = pictureScale(tensor.datatype, finiteRange(values) ?? { low: 0, high: 1 });
    return { scale, pixels: picturePixels(values, wanted, scale) };
  }, [tensor, at, size]);
  if (!shape || !drawn) return null;
  return (
    <>
      {shape.count > 1 ? (
        <NumberInput
          label={t`Picture (of ${shape.count})`}
          w={130}
          mb={8}
          min={0}
          max={shape.count - 1}
          value={at}
          onChange={(value) => typeof value === "number" && setItem(value)}
        />
      ) : null}
      <CanvasView label={t`Picture of ${tensor.name}`} width={shape.width} height={shape.height} pixels={drawn.pixels} />
      <p className={shared["sentLine"]}>
        <Trans>
          {shape.width} × {shape.height} pixels, values {drawn.scale.words}
        </Trans>
      </p>
    </>
  );
}

function EncodedPictures({ tensor }: { tensor: OutputTensor }) {
  const [urls, setUrls] = useState<string[]>([]);
  useEffect(() => {
    const made = picturesOf(tensor).map((bytes) => URL.createObjectURL(new Blob([bytes], { type: pictureType(bytes) ?? "" })));
    setUrls(made);
    return () => made.forEach((url) => URL.revokeObjectURL(url));
  }, [tensor]);
  return (
    <div className={classes["gallery"]}>
      {urls.map((url, index) => (
        <img key={url} src={url} alt={t`${tensor.name}, item ${index}`} />
      ))}
    </div>
  );
}

const TEXT_LIMIT = 200;

export function TextOf({ tensor }: { tensor: OutputTensor }) {
  const texts = firstOf(tensor.elements, TEXT_LIMIT);
  return (
    <div className={classes["texts"]} tabIndex={0} role="region" aria-label={t`Texts of ${tensor.name}`}>
      {texts.map((text, index) => (
        <pre key={index}>{elementText(text)}</pre>
      ))}
      {tensor.elements.length > TEXT_LIMIT ? (
        <p className="secondary">
          <Trans>{count(tensor.elements.length - TEXT_LIMIT)} more in the table.</Trans>
        </p>
      ) : null}
    </div>
  );
}
