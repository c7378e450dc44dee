/** A first request from the page itself, with made-up numbers: the endpoint is seen to answer. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { duration, shape, significant } from "@/components/format";
import { RefusingButton } from "@/components/refusing-button";
import { ToneIcon } from "@/components/status";
import shared from "../deploy.module.css";
import classes from "./sample-test.module.css";
import { SampleFailed, sendSample, type SampleOutput, type Socket } from "./sample-call";

const SHOWN_VALUES = 8;

const connectTo = (endpoint: string) => (): Socket => {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return new WebSocket(`${scheme}://${window.location.host}/ws/v1/console/${encodeURIComponent(endpoint)}`);
};

export function SampleTest({ endpoint, deployment, model }: { endpoint: string; deployment: string; model: string }) {
  const test = useMutation({
    mutationFn: () => sendSample({ connect: connectTo(endpoint), deployment, model, random: Math.random }),
  });
  const { data, error } = test;
  return (
    <section className={classes["sample"]} aria-label={t`Test`}>
      <div className={shared["sampleHead"]}>
        <RefusingButton
          needs="invoke"
          variant="default"
          leftSection={<IconPlayerPlay size={15} aria-hidden />}
          onClick={() => test.mutate()}
          loading={test.isPending}
        >
          {data ? t`Send another` : t`Send a sample request`}
        </RefusingButton>
        <span className={shared["hint"]}>
          <Trans>
            random values in the model's own shapes, straight to {deployment}.{" "}
            <Link {...paths.endpointTab(endpoint, "test")} className="link">
              Your own data
            </Link>
          </Trans>
        </span>
      </div>
      {error ? (
        <div className={shared["verdict"]} role="alert">
          <ToneIcon tone="error" label={t`Failed`} />
          <div>
            <div>{error.message}</div>
            {error instanceof SampleFailed && error.triton && error.triton !== error.message ? (
              <div className={shared["problemRaw"]}>{error.triton}</div>
            ) : null}
          </div>
        </div>
      ) : null}
      {data ? (
        <div role="status" className={shared["stack"]} style={{ gap: 6 }}>
          <div className={shared["verdict"]}>
            <ToneIcon tone="ok" label={t`Answered`} />
            <span>
              <Trans>
                <span className="mono">{data.model}</span> answered in {duration(data.totalUs)}.
              </Trans>
            </span>
          </div>
          <ul className={classes["outputs"]} aria-label={t`Outputs`}>
            {data.outputs.map((output) => (
              <li key={output.name}>
                <span className="mono">{output.name}</span>
                <span className="secondary">
                  {output.datatype}, {shape(output.shape)}
                </span>
                <span className="mono">{valuesText(output)}</span>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </section>
  );
}

function valuesText({ data }: SampleOutput): string {
  const shown = data.slice(0, SHOWN_VALUES).map((value) => (typeof value === "number" ? significant(value) : String(value)));
  return shown.join(", ") + (data.length > SHOWN_VALUES ? ", …" : "");
}
