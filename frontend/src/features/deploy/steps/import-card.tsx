/** The other way to begin: the server fetches the model from an address. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ApiProblem, toProblem } from "@/api/problem";
import type { Upload } from "@/api/types";
import { createImport } from "@/api/uploads";
import { Card } from "@/components/card";
import { useChosenProject } from "@/components/chosen-project";
import { ProblemCard } from "@/components/problem-card";
import shared from "../deploy.module.css";
import classes from "./import-card.module.css";

const EXAMPLES: [string, string][] = [
  ["https://host/path/model.onnx", t`A file, or an archive. A signed URL is forgotten as soon as the bytes are here.`],
  ["hf://owner/name@revision/path", t`A repository of a hub, pinned to its commit. Revision and path may be left out.`],
  ["s3://bucket/path", t`An object, or the model below a prefix.`],
  ["runs:/RUN_ID/path", t`An artifact of an MLflow run, with its commit and dataset.`],
];

export function ImportCard({ onImport }: { onImport: (upload: Upload) => void }) {
  const [address, setAddress] = useState("");
  const project = useChosenProject();
  const start = useMutation({ mutationFn: () => createImport(address.trim(), project), onSuccess: onImport });
  const problem = start.error ? toProblem(start.error) : null;
  const ofField = problem?.field === "address" ? problem : null;
  return (
    <Card title={t`Import from an address`} hint={t`the server fetches it`}>
      <form
        className={shared["stack"]}
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <div className={classes["row"]}>
          <TextInput
            label={t`Address`}
            placeholder="https://, hf://, s3:// or runs:/"
            value={address}
            onChange={({ currentTarget }) => {
              setAddress(currentTarget.value);
              start.reset();
            }}
            error={ofField ? wordsOf(ofField) : undefined}
            autoComplete="off"
            spellCheck={false}
            maxLength={2000}
          />
          <Button type="submit" loading={start.isPending} disabled={address.trim() === ""}>
            <Trans>Import</Trans>
          </Button>
        </div>
        {problem && !ofField ? <ProblemCard error={problem} title={t`The import was not started`} /> : null}
        <dl className={classes["examples"]}>
          {EXAMPLES.map(([form, words]) => (
            <div key={form}>
              <dt className="mono">{form}</dt>
              <dd className="secondary">{words}</dd>
            </div>
          ))}
        </dl>
      </form>
    </Card>
  );
}

const wordsOf = ({ detail, title }: ApiProblem): string => (detail || title).replace(/^address: /, "");
