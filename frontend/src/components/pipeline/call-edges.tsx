/** Calls between models: dashed lines from caller to callee, with what they give and get, figures and marks. */
import { type Call, callKey, cut, dip, LABEL, LINE, named, type Place } from "./call-layout";
import type { StepText } from "./graph";
import classes from "./pipeline.module.css";

const HEAD = 7;
/** A curve reaches so much of the way to the points that bend it. */
const REACHED = 0.75;

interface CallEdgesProps {
  onward: readonly Call[];
  back: readonly Call[];
  /** Boxes by the keys of their nodes. */
  at: ReadonlyMap<string, Place>;
  texts: ReadonlyMap<string, StepText>;
  /** Width between two columns. */
  between: number;
  /** How far labels reach below the boxes. */
  labels: number;
}

export function CallEdges({ onward, back, at, texts, between, labels }: CallEdgesProps) {
  const toneOf = (key: string) => (texts.get(key)?.marks.some((mark) => mark.tone === "error") ? "error" : undefined);
  const lowest = (index: number, left: Place, right: Place) => Math.max(left.y + left.height, right.y + right.height) + dip(index, labels);
  const tops = new Map<string, number>();
  // Lines first: what stands on them is to be read.
  return (
    <>
      {onward.map(([{ from, to }]) => {
        const [left, right] = [at.get(from), at.get(to)];
        if (!left || !right) return null;
        const [x1, y1, x2, y2] = [left.x + left.width, left.y + left.height / 2, right.x, right.y + right.height / 2];
        const bend = Math.max(24, (x2 - x1) / 2);
        const key = callKey(from, to);
        return (
          <g key={key} data-tone={toneOf(key)} className={classes["call"]}>
            <path d={`M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`} />
            <path d={`M ${x2} ${y2} l -${HEAD} -4 l 0 8 z`} className={classes["head"]} />
          </g>
        );
      })}
      {back.map(([{ from, to }], index) => {
        const [left, right] = [at.get(from), at.get(to)];
        if (!left || !right) return null;
        const [x1, y1] = [left.x + left.width * 0.6, left.y + left.height];
        const [x2, y2] = [right.x + right.width * 0.4, right.y + right.height];
        const bend = Math.max(y1, y2) + (lowest(index, left, right) - Math.max(y1, y2)) / REACHED;
        const key = callKey(from, to);
        return (
          <g key={key} data-tone={toneOf(key)} className={classes["call"]}>
            <path d={`M ${x1} ${y1} C ${x1} ${bend}, ${x2} ${bend}, ${x2} ${y2}`} />
            <path d={`M ${x2} ${y2} l -4 ${HEAD} l 8 0 z`} className={classes["head"]} />
          </g>
        );
      })}
      {onward.map((call) => {
        const [{ from, to }] = call;
        const right = at.get(to);
        if (!right) return null;
        const said = linesOf(texts.get(callKey(from, to)));
        const x = right.x - between / 2;
        const before = tops.get(to);
        // The tensors stand there once, whoever gives them.
        const tensors = before === undefined ? named(call) : [];
        const top = before ?? right.y + right.height / 2 - 5;
        tops.set(to, top + said.length * LINE + tensors.length * LABEL);
        return (
          <g key={callKey(from, to)} textAnchor="middle">
            {said.map(({ line, tone }, index) => (
              <text key={index} x={x} y={top + index * LINE} className={classes["callText"]} data-tone={tone}>
                {line}
              </text>
            ))}
            {tensors.map((edge, index) => (
              <g key={`${edge.via} ${edge.tensor}`}>
                <text x={x} y={top + said.length * LINE + index * LABEL} className={classes["callName"]}>
                  <title>{`${edge.tensor} ${edge.type}`}</title>
                  {`${edge.via === "answer" ? "←" : "→"} ${cut(edge.tensor, 14)}`}
                </text>
                <text x={x} y={top + (said.length + 1) * LINE + index * LABEL} className={classes["callText"]}>
                  {cut(edge.type, 18)}
                </text>
              </g>
            ))}
          </g>
        );
      })}
      {back.map(([{ from, to }], index) => {
        const [left, right] = [at.get(from), at.get(to)];
        const key = callKey(from, to);
        if (!left || !right) return null;
        return (
          <text
            key={key}
            x={(left.x + left.width * 0.6 + right.x + right.width * 0.4) / 2}
            y={lowest(index, left, right) + 4}
            textAnchor="middle"
            className={classes["callText"]}
            data-tone={toneOf(key)}
          >
            {linesOf(texts.get(key))
              .map((one) => one.line)
              .join(", ")}
          </text>
        );
      })}
    </>
  );
}

const linesOf = (text: StepText | undefined) => [
  ...(text?.lines ?? []).map((line) => ({ line, tone: undefined })),
  ...(text?.marks ?? []).map((mark) => ({ line: mark.text, tone: mark.tone })),
];
