/** A pipeline drawn: steps from left to right, tensors with their types between them, figures and marks on each step and call. */
import { Trans } from "@lingui/react/macro";
import { CallEdges } from "./call-edges";
import { callKey, callsIn, cut, dip, LABEL, type Place, stackHeight } from "./call-layout";
import type { PipelineEdge, PipelineGraph, PipelineNode, StepText } from "./graph";
import classes from "./pipeline.module.css";

const PAD = 8;
const NAME = 38;
const LINE = 16;
const END = 84;

const titleOf = (graph: PipelineGraph, key: string): string => graph.nodes.find((node) => node.key === key)?.title ?? key;

export interface PipelineDrawingProps {
  graph: PipelineGraph;
  /** Accessible name of the region that scrolls. */
  label: string;
  texts?: ReadonlyMap<string, StepText>;
  /** Of calls, by `callKey`. */
  callTexts?: ReadonlyMap<string, StepText>;
}

export function PipelineDrawing({ graph, label, texts, callTexts }: PipelineDrawingProps) {
  const calls = callsIn(graph);
  return (
    <>
      <div className={classes["graph"]} tabIndex={0} role="region" aria-label={label}>
        <Drawing graph={graph} texts={texts ?? new Map()} callTexts={callTexts ?? new Map()} />
      </div>
      <ul className="sr-only">
        {graph.edges.map((edge, index) => {
          if (!edge.tensor) return null;
          const [from, to] = edge.via === "answer" ? [edge.to, edge.from] : [edge.from, edge.to];
          return (
            <li key={index}>
              <Trans>
                {edge.tensor}
                {edge.type ? `, ${edge.type},` : ""} goes from {titleOf(graph, from)} to {titleOf(graph, to)}
              </Trans>
            </li>
          );
        })}
        {[...calls.onward, ...calls.back].map(([edge]) => (
          <li key={callKey(edge.from, edge.to)}>
            <Trans>
              {titleOf(graph, edge.from)} calls {titleOf(graph, edge.to)}
            </Trans>{" "}
            {saidOf(callTexts?.get(callKey(edge.from, edge.to)))}
          </li>
        ))}
      </ul>
    </>
  );
}

const saidOf = (text: StepText | undefined): string => [...(text?.lines ?? []), ...(text?.marks ?? []).map((mark) => mark.text)].join(", ");

interface DrawingProps {
  graph: PipelineGraph;
  texts: ReadonlyMap<string, StepText>;
  callTexts: ReadonlyMap<string, StepText>;
}

function Drawing({ graph, texts, callTexts }: DrawingProps) {
  const all = [...texts.values()];
  const lines = Math.max(0, ...all.map((text) => text.lines.length));
  const marks = Math.max(0, ...all.map((text) => text.marks.length));
  const box = { width: lines > 0 ? 212 : 168, height: NAME + (lines + marks) * LINE + (lines > 0 ? 4 : 0) };
  const between = graph.edges.length > 0 ? 112 : 24;
  // Inputs and outputs stand alone in their columns, and say little.
  const ends = new Set(graph.nodes.filter((node) => node.kind !== "step").map((node) => node.column));
  const widthOf = (column: number): number => (ends.has(column) ? END : box.width);
  const left = (column: number): number =>
    Array.from({ length: column }, (_, at) => widthOf(at) + between).reduce((sum, one) => sum + one, PAD);
  const passed = graph.edges.filter((edge) => !edge.via);
  const busiest = Math.max(0, ...together(passed).values());
  const { onward, back } = callsIn(graph);
  // Labels of calls begin at half the height of the callee.
  const labels = stackHeight(onward, callTexts) - box.height / 2;
  const below = back.length > 0 ? dip(back.length, labels) : labels;
  const apart = Math.max(26, busiest * LABEL - box.height + 14, labels - box.height / 2 + 14, back.length > 0 ? below : 0);
  const place = (node: PipelineNode) => ({
    x: left(node.column),
    y: PAD + node.row * (box.height + apart),
    width: widthOf(node.column),
  });
  const width = left(graph.columns - 1) + widthOf(graph.columns - 1) + PAD;
  const height = PAD * 2 + graph.rows * box.height + (graph.rows - 1) * apart + Math.max(0, busiest * LABEL - box.height, below);
  const at = new Map(graph.nodes.map((node): [string, Place] => [node.key, { ...place(node), height: box.height, column: node.column }]));
  // Tensors between the same two boxes share a line; their names stand below each other.
  const seen = new Map<string, number>();
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden>
      <CallEdges onward={onward} back={back} at={at} texts={callTexts} between={between} labels={labels} />
      {passed.map((edge, index) => {
        const from = at.get(edge.from);
        const to = at.get(edge.to);
        if (!from || !to) return null;
        const pair = `${edge.from}>${edge.to}`;
        const number = seen.get(pair) ?? 0;
        seen.set(pair, number + 1);
        const [x1, y1, x2, y2] = [from.x + from.width, from.y + box.height / 2, to.x, to.y + box.height / 2];
        const bend = Math.max(24, (x2 - x1) / 2);
        const [x, y] = [x2 - between / 2, (y1 + y2) / 2 - 5 + number * LABEL];
        return (
          <g key={index}>
            {number === 0 ? (
              <path d={`M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`} className={classes["edge"]} />
            ) : null}
            <text x={x} y={y} textAnchor="middle" className={classes["edgeName"]}>
              <title>{`${edge.tensor} ${edge.type}`}</title>
              {cut(edge.tensor, 16)}
            </text>
            {edge.type ? (
              <text x={x} y={y + 16} textAnchor="middle" className={classes["edgeType"]}>
                {cut(edge.type, 18)}
              </text>
            ) : null}
          </g>
        );
      })}
      {graph.nodes.map((node) => {
        const { x, y, width } = place(node);
        const text = texts.get(node.key);
        const tone = text?.marks.some((mark) => mark.tone === "error") ? "error" : text?.marks[0]?.tone;
        const top = text ? y + 24 : y + box.height / 2 + 4;
        return (
          <g key={node.key}>
            <rect x={x} y={y} width={width} height={box.height} rx={6} className={classes["box"]} data-kind={node.kind} data-tone={tone} />
            <text x={x + width / 2} y={top} textAnchor="middle" className={classes["boxName"]}>
              <title>{node.title}</title>
              {cut(node.title, Math.floor(width / 8))}
            </text>
            {text?.lines.map((line, index) => (
              <text key={index} x={x + width / 2} y={top + 18 + index * LINE} textAnchor="middle" className={classes["figures"]}>
                {line}
              </text>
            ))}
            {text?.marks.map((mark, index) => (
              <text
                key={index}
                x={x + width / 2}
                y={top + 18 + (text.lines.length + index) * LINE}
                textAnchor="middle"
                className={classes["mark"]}
                data-tone={mark.tone}
              >
                {mark.text}
              </text>
            ))}
          </g>
        );
      })}
    </svg>
  );
}

/** How many tensors go from one box to another. */
function together(edges: readonly PipelineEdge[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const edge of edges) {
    const pair = `${edge.from}>${edge.to}`;
    found.set(pair, (found.get(pair) ?? 0) + 1);
  }
  return found;
}
