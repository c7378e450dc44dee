/** An ensemble drawn: steps from left to right, tensors between them. */
import { Card } from "@/components/card";
import { ensembleGraph, type EnsembleGraph, type EnsembleNode } from "../ensemble/graph";
import classes from "../models.module.css";

const BOX = { width: 168, height: 38 };
const GAP = { x: 96, y: 26 };
const PAD = 8;

const place = (node: EnsembleNode) => ({
  x: PAD + node.column * (BOX.width + GAP.x),
  y: PAD + node.row * (BOX.height + GAP.y),
});

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

export function EnsembleCard({ config }: { config: Record<string, unknown> | null }) {
  const graph = ensembleGraph(config);
  if (!graph) return null;
  return (
    <Card title="Ensemble" hint="what passes from step to step">
      <div className={classes["graph"]} tabIndex={0} role="region" aria-label="Ensemble graph">
        <Drawing graph={graph} />
      </div>
      <ul className="sr-only">
        {graph.edges.map((edge, index) => (
          <li key={index}>
            {edge.tensor} goes from {titleOf(graph, edge.from)} to {titleOf(graph, edge.to)}
          </li>
        ))}
      </ul>
    </Card>
  );
}

const titleOf = (graph: EnsembleGraph, key: string): string => graph.nodes.find((node) => node.key === key)?.title ?? key;

function Drawing({ graph }: { graph: EnsembleGraph }) {
  const width = PAD * 2 + graph.columns * BOX.width + (graph.columns - 1) * GAP.x;
  const height = PAD * 2 + graph.rows * BOX.height + (graph.rows - 1) * GAP.y;
  const at = new Map(graph.nodes.map((node) => [node.key, place(node)]));
  // Tensors between the same two boxes share a line of text each.
  const seen = new Map<string, number>();
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden>
      {graph.edges.map((edge, index) => {
        const from = at.get(edge.from);
        const to = at.get(edge.to);
        if (!from || !to) return null;
        const pair = `${edge.from}>${edge.to}`;
        const number = seen.get(pair) ?? 0;
        seen.set(pair, number + 1);
        const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
        const bend = Math.max(24, (x2 - x1) / 2);
        return (
          <g key={index}>
            <path d={`M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`} className={classes["edge"]} />
            <text x={x2 - GAP.x / 2} y={(y1 + y2) / 2 - 5 + number * 13} textAnchor="middle" className={classes["edgeName"]}>
              <title>{edge.tensor}</title>
              {cut(edge.tensor, 15)}
            </text>
          </g>
        );
      })}
      {graph.nodes.map((node) => {
        const { x, y } = place(node);
        return (
          <g key={node.key}>
            <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={6} className={classes["box"]} data-kind={node.kind} />
            <text x={x + BOX.width / 2} y={y + BOX.height / 2 + 4} textAnchor="middle" className={classes["boxName"]}>
              <title>{node.title}</title>
              {cut(node.title, 21)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
