/** One cell per GPU, or per machine without one: how full its memory is. Hundreds fit on a line. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
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

const STEPS: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => Math.min(index + 1, last),
  ArrowLeft: (index) => Math.max(index - 1, 0),
  Home: () => 0,
  End: (_, last) => last,
};

/** One stop of the Tab key, whatever the number of nodes: arrows walk over them. */
export function HeatStrip({ nodes }: { nodes: readonly HeatNode[] }) {
  const [focused, setFocused] = useState(0);
  const stop = Math.min(focused, nodes.length - 1);
  const walk = (event: KeyboardEvent<HTMLUListElement>) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.currentTarget.querySelectorAll("a")[step(stop, nodes.length - 1)]?.focus();
  };
  return (
    <div className={classes["box"]}>
      <ul className={classes["strip"]} aria-label={t`Memory of each GPU, by node`} onKeyDown={walk}>
        {nodes.map((node, index) => {
          const cells = cellsOf(node);
          const words = cells.map((cell) => cell.words).join("; ");
          return (
            <li key={node.id}>
              <Link
                {...paths.node(node.name)}
                className={classes["node"]}
                title={`${node.name}: ${words}`}
                aria-label={`${node.name}: ${words}`}
                tabIndex={index === stop ? 0 : -1}
                onFocus={() => setFocused(index)}
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
