/** The call in view as a program: the same inputs, the same target. */
import { t } from "@lingui/core/macro";
import { Select } from "@mantine/core";
import { useState } from "react";
import type { Endpoint } from "@/api/types";
import { CodeBlock } from "@/components/copy";
import { DownloadButton } from "@/components/download-button";
import type { BuiltInput } from "../tensor/built-input";
import { npyBytes } from "../tensor/npy";
import classes from "./code-view.module.css";
import { GRPC_FILE, grpcRequest } from "./grpcurl";
import { fileName, impossible, LANGUAGE_LABELS, LANGUAGES, REQUEST_FILE, requestFile, snippet, type Language } from "./snippets";
import { tooLong } from "./too-long";
import { isLarge, type CodeTarget } from "./target";

export interface CodeViewProps {
  endpoint: Endpoint;
  call: Pick<CodeTarget, "deployment" | "model" | "version" | "decoupled" | "parameters" | "outputs">;
  inputs: readonly BuiltInput[];
  /** Why there is no call to write yet. */
  problem: string | null;
  /** Chosen by the page; else it is chosen here. */
  language?: Language;
}

export function CodeView({ endpoint, call, inputs, problem, language: fixed }: CodeViewProps) {
  const [chosen, setLanguage] = useState<Language>(call.decoupled ? "python_grpc" : "curl");
  const language = fixed ?? chosen;
  const target: CodeTarget = {
    endpoint: endpoint.name,
    scoringUri: endpoint.scoring_uri,
    grpcTarget: endpoint.grpc_target,
    caPath: endpoint.ca_path,
    ...call,
  };
  const why = problem ?? tooLong(inputs) ?? impossible(language, target, inputs);
  const large = inputs.filter(isLarge);
  const asNpy = language === "python_http" || language === "python_grpc";
  const body = language === "grpcurl" ? { name: GRPC_FILE, write: grpcRequest } : { name: REQUEST_FILE, write: requestFile };
  return (
    <>
      <div className={classes["codeBar"]}>
        {fixed ? null : (
          <Select
            aria-label={t`Language`}
            w={180}
            allowDeselect={false}
            value={language}
            data={LANGUAGES.map((value) => ({ value, label: LANGUAGE_LABELS[value] }))}
            onChange={(value) => value && setLanguage(value)}
          />
        )}
        {why === null && large.length > 0 && !asNpy ? (
          <DownloadButton label={body.name} name={body.name} type="application/json" content={() => body.write(target, inputs)} />
        ) : null}
        {why === null && asNpy
          ? large.map((input) => (
              <DownloadButton
                key={input.name}
                label={fileName(input, "npy")}
                name={fileName(input, "npy")}
                type="application/octet-stream"
                content={() => npyBytes(input.datatype, input.shape, input.elements)}
              />
            ))
          : null}
      </div>
      {why === null ? (
        <CodeBlock code={snippet(language, target, inputs)} label={t`${LANGUAGE_LABELS[language]} of this call`} />
      ) : (
        <p className="muted">{why}</p>
      )}
    </>
  );
}
