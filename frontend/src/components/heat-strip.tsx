/** One cell per GPU, or per machine without one: how full its memory is. Hundreds fit on a line. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { cellsOf, type HeatCell, type HeatNode } from "./heat-cells";
import classes from "./heat-strip.module.css";

function Cell({ cell }: { cell: HeatCell }) {
  return (
    <span
      className={classes["cell"]}
      data-state={cell.state}
      style={cell.state === "ok" ? ({ "--share": `${Math.round(cell.share * 100)}%` } as React.CSSProperties) : undefined}
    />
  );
}

export function HeatStrip({ nodes }: { nodes: readonly HeatNode[] }) {
  return (
    <div className={classes["box"]}>
      <ul className={classes["strip"]} aria-label={t`Memory of each GPU, by node`}>
        {nodes.map((node) => {
          const cells = cellsOf(node);
          const words = cells.map((cell) => cell.words).join("; ");
          return (
            <li key={node.id}>
              <Link
                {...paths.node(node.name)}
                className={classes["node"]}
                title={`${node.name}: ${words}`}
                aria-label={`${node.name}: ${words}`}
              >
                {cells.map((cell) => (
                  <Cell key={cell.id} cell={cell} />
                ))}
              </Link>
            </li>
          );
        })}
      </ul>
      <p className={classes["legend"]}>
        <span>
          <Trans>
            <span className={classes["scale"]} aria-hidden /> memory 0 to 100 %
          </Trans>
        </span>
        <span>
          <Trans>
            <span className={classes["cell"]} data-state="closed" aria-hidden /> takes nothing new
          </Trans>
        </span>
        <span>
          <Trans>
            <span className={classes["cell"]} data-state="lost" aria-hidden /> not heard from
          </Trans>
        </span>
      </p>
    </div>
  );
}
