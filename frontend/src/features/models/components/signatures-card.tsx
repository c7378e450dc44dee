/** Who signed what a version would run, and what the installation makes of it. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { signaturesQuery } from "@/api/models";
import { Card } from "@/components/card";
import { CopyField } from "@/components/copy";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import { signatureMessage } from "../signature-messages";
import classes from "../models.module.css";

export function SignaturesCard({ name, version, revision }: { name: string; version: number; revision: number }) {
  const found = useQuery(signaturesQuery(name, version, revision)).data;
  if (!found) return null;
  const words = signatureMessage(found);
  return (
    <Card title={t`Signatures`} hint={<Chip tone={words.tone}>{words.title}</Chip>}>
      <p className="secondary">{words.text}</p>
      {found.items.length > 0 ? (
        <ul className={classes["uses"]}>
          {found.items.map((item) => (
            <li key={item.key_id}>
              {item.counts ? item.comment : t`A key that is not trusted any more`} <span className="mono">{item.key_id}</span>,{" "}
              <Time at={item.uploaded_at} />
            </li>
          ))}
        </ul>
      ) : null}
      {words.command ? <CopyField text={words.command} label={t`command`} /> : null}
    </Card>
  );
}
