/** A model of this name takes and gives something else: is the file its next version, or somebody else's model? */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { ToneIcon } from "@/components/status";
import shared from "../deploy.module.css";

export interface Clash {
  model: string;
  /** The newest version that is there, and who made it. */
  version: number;
  by: string;
  there: string;
  here: string;
  /** A name that no model has. */
  free: string;
}

export interface NameClashProps {
  clash: Clash;
  onName: (name: string) => void;
  onNext: () => void;
}

export function NameClash({ clash, onName, onNext }: NameClashProps) {
  return (
    <div className={shared["refusal"]} style={{ borderLeftColor: "var(--warn)" }} role="alert">
      <ToneIcon tone="warn" label={t`Warning`} />
      <div className={shared["stack"]}>
        <span>
          <Trans>
            <b>There is another model called {clash.model}.</b> Its version {clash.version}, by {clash.by}, has other inputs and outputs
            than this file.
          </Trans>
        </span>
        <span>
          <Trans>
            There: <span className="mono">{clash.there}</span>
            <br />
            Here: <span className="mono">{clash.here}</span>
          </Trans>
        </span>
        <div className={shared["sampleHead"]}>
          <Button variant="default" onClick={() => onName(clash.free)}>
            <Trans>Call this one {clash.free}</Trans>
          </Button>
          <Button variant="default" onClick={onNext}>
            <Trans>
              It is version {clash.version + 1} of {clash.model}
            </Trans>
          </Button>
        </div>
      </div>
    </div>
  );
}
