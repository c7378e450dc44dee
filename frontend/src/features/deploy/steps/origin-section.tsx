/** What a person knows of the file and the file does not tell: kept with the version that is registered of it. */
import { plural, t } from "@lingui/core/macro";
import { Card } from "@/components/card";
import { foundIn, saidIn, type StatedLineage } from "@/components/lineage";
import { LineageFields, type LineageProblems } from "@/components/lineage-fields";
import type { Lineage } from "@/api/types";
import shared from "../deploy.module.css";
import { FoldedSection } from "./folded-section";

export interface OriginProps {
  stated: StatedLineage;
  /** Of an import. */
  found: Lineage | null;
  problems: LineageProblems;
  onStated: (stated: StatedLineage) => void;
}

export function OriginSection({ stated, found, problems, onStated }: OriginProps) {
  const said = Object.keys(saidIn(stated)).length;
  const words = said === 0 ? t`not stated` : plural(said, { one: "# field", other: "# fields" });
  return (
    <Card flush>
      <FoldedSection title={t`Where it comes from`} state={words} wrong={Object.keys(problems).length > 0}>
        <div className={shared["stack"]}>
          <LineageFields stated={stated} found={foundIn(found)} problems={problems} onStated={onStated} />
        </div>
      </FoldedSection>
    </Card>
  );
}
