/** The two keys of an endpoint: shown on request (which is recorded), replaced one at a time. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconEye, IconEyeOff, IconRefresh } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { listKeys } from "@/api/endpoints";
import { useRefusal } from "@/api/permissions";
import type { EndpointKeys } from "@/api/types";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { ProblemCard } from "@/components/problem-card";
import { RoleNote } from "@/components/role-note";
import { type KeyKind, RegenerateDialog } from "../components/regenerate-dialog";
import { TokenCard } from "../components/token-card";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "./keys-tab.module.css";

const KINDS = [
  { kind: "primary", field: "primaryKey", title: t`Primary key`, name: t`primary key` },
  { kind: "secondary", field: "secondaryKey", title: t`Secondary key`, name: t`secondary key` },
] as const;

export function KeysTab() {
  const endpoint = useEndpoint();
  const refusal = useRefusal("keys");
  const [keys, setKeys] = useState<EndpointKeys | null>(null);
  const [asking, setAsking] = useState<KeyKind | null>(null);
  const reveal = useMutation({ mutationFn: () => listKeys(endpoint.name), onSuccess: setKeys });
  // why not the keys then: an endpoint that is opened by tokens takes no keys.
  if (endpoint.auth_mode === "aml_token") return <TokenCard endpoint={endpoint.name} />;
  return (
    <Card
      title={t`Keys`}
      hint={t`either one opens the endpoint`}
      actions={
        keys ? (
          <Button variant="default" leftSection={<IconEyeOff size={15} />} onClick={() => setKeys(null)}>
            <Trans>Hide</Trans>
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconEye size={15} />}
            loading={reveal.isPending}
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => reveal.mutate()}
          >
            <Trans>Show the keys</Trans>
          </Button>
        )
      }
    >
      <RoleNote needs="keys" to={t`see or replace keys`} />
      {reveal.error ? <ProblemCard error={reveal.error} title={t`The keys could not be read`} onRetry={() => reveal.mutate()} /> : null}
      <div className={classes["rows"]}>
        {KINDS.map((item) => (
          <div key={item.kind} className={classes["row"]}>
            <span className={classes["title"]}>{item.title}</span>
            <span className={`${classes["value"]} mono`}>{keys ? keys[item.field] : "•".repeat(32)}</span>
            <span className={classes["actions"]}>
              {keys ? <CopyButton text={keys[item.field]} label={item.name} /> : null}
              <Button
                variant="default"
                leftSection={<IconRefresh size={15} />}
                disabled={refusal !== undefined}
                title={refusal}
                onClick={() => setAsking(item.kind)}
              >
                <Trans>Regenerate</Trans>
              </Button>
            </span>
          </div>
        ))}
      </div>
      <p className={classes["note"]}>
        <Trans>
          Send a key as <span className="mono">Authorization: Bearer KEY</span>. To replace one without a pause: move callers to the other
          key, regenerate this one, move them back. Showing and regenerating are recorded under Events.
        </Trans>
      </p>
      <RegenerateDialog endpoint={endpoint.name} kind={asking} onClose={() => setAsking(null)} onDone={setKeys} />
    </Card>
  );
}
