/** Which sheet of a tensor is in view: one number per axis in front of the last two. */
import { t } from "@lingui/core/macro";
import { NumberInput } from "@mantine/core";
import type { Sheet } from "@/inference/tensor/grid";
import classes from "./sheet.module.css";

export interface LeadingAxesProps {
  sheet: Sheet;
  place: readonly number[];
  onPlace: (place: number[]) => void;
  /** The first axis is the batch. */
  batched?: boolean;
}

export function LeadingAxes({ sheet, place, onPlace, batched = false }: LeadingAxesProps) {
  if (sheet.leading.every((size) => size === 1)) return null;
  return (
    <div className={classes["axes"]}>
      {sheet.leading.map((size, axis) =>
        size === 1 ? null : (
          <NumberInput
            key={axis}
            label={batched && axis === 0 ? t`Item (of ${size})` : t`Axis ${axis + 1} (of ${size})`}
            w={112}
            min={0}
            max={size - 1}
            allowDecimal={false}
            value={Math.min(place[axis] ?? 0, size - 1)}
            onChange={(value) =>
              typeof value === "number" && onPlace(sheet.leading.map((_, at) => (at === axis ? value : (place[at] ?? 0))))
            }
          />
        ),
      )}
    </div>
  );
}
