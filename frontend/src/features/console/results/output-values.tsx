/** Values of an output with their positions; only the rows in view are drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { WireOutput } from "../socket/console-socket";
import classes from "../console.module.css";

const ROW_PX = 25;

/** `[1, 0, 7]`: where a flat index lies in the shape. */
export function positionOf(index: number, shape: readonly number[]): string {
  const position: number[] = [];
  let rest = index;
  for (const size of [...shape].reverse()) {
    position.unshift(size > 0 ? rest % size : 0);
    rest = size > 0 ? Math.floor(rest / size) : 0;
  }
  return `[${position.join(", ")}]`;
}

export function OutputValues({ output }: { output: WireOutput }) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: output.data.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  const shown = rows.getVirtualItems();
  const before = shown[0]?.start ?? 0;
  const after = rows.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    <div ref={box} className={classes["values"]} tabIndex={0} role="region" aria-label={`Values of ${output.name}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Position</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {before > 0 ? (
            <tr aria-hidden style={{ height: before }}>
              <td colSpan={2} />
            </tr>
          ) : null}
          {shown.map(({ index }) => (
            <tr key={index} style={{ height: ROW_PX }}>
              <td>{positionOf(index, output.shape)}</td>
              <td>{String(output.data[index] ?? "NaN")}</td>
            </tr>
          ))}
          {after > 0 ? (
            <tr aria-hidden style={{ height: after }}>
              <td colSpan={2} />
            </tr>
          ) : null}
        </tbody>
      </table>
    </div>
  );
}
