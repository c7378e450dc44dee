/** What to do on a fresh installation: a node, a model, a request. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconCheck, IconRocket } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ApiProblem } from "@/api/problem";
import { systemQuery } from "@/api/system";
import type { Overview } from "@/api/types";
import { offerDropped } from "@/app/dropped-files";
import { paths } from "@/app/paths";
import sampleUrl from "@/assets/sample.onnx?url";
import { Logo } from "@/components/logo";
import { notifyProblem } from "@/components/notify";
import { RefusingButton, RefusingLink } from "@/components/refusing-button";
import { Status } from "@/components/status";
import { firstChecks, onlineWords } from "../first-checks";
import classes from "./first-steps.module.css";

/** The installation's own parts, so that a first deployment does not run into a broken one. */
function Installation({ overview }: { overview: Overview }) {
  const { data, error } = useQuery(systemQuery());
  if (error)
    return (
      <p className={classes["parts"]}>
        <Trans>The parts of this installation could not be looked at.</Trans>
      </p>
    );
  if (!data) return null;
  return (
    <dl className={classes["parts"]} aria-label={t`This installation`}>
      {firstChecks(data.parts, overview).map(({ label, text, tone }) => (
        <div key={label}>
          <dt>
            <Status plain state={label} tone={tone} />
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The wizard takes it as if it had been dropped. */
function useSample() {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async () => {
      const answer = await fetch(sampleUrl);
      if (!answer.ok) throw new ApiProblem({ title: t`The sample model could not be read` }, answer.status);
      return new File([await answer.blob()], "sample.onnx");
    },
    onSuccess: async (file) => {
      await navigate(paths.deploy());
      offerDropped([{ path: file.name, file }]);
    },
    onError: (error) => notifyProblem(error, t`The sample model could not be deployed`),
  });
}

export function FirstSteps({ overview }: { overview: Overview }) {
  const { counts } = overview;
  const sample = useSample();
  const names = onlineWords(overview);
  const steps = [
    {
      title: t`A node runs the models`,
      done: counts.nodes_online > 0,
      text:
        counts.nodes_online > 0 ? (
          plural(counts.nodes_online, {
            one: `${names} is online and waits for work.`,
            other: `${names} are online and wait for work.`,
          })
        ) : (
          <>
            <Trans>
              No node is online.{" "}
              <Link {...paths.joinNode()} className="link">
                Join a node
              </Link>
              .
            </Trans>
          </>
        ),
    },
    {
      title: t`Deploy a model`,
      done: false,
      text: t`Drop an ONNX file or a zipped Triton model repository. It is inspected, registered, placed on a node and gets an authenticated URL.`,
    },
    {
      title: t`Send a request`,
      done: false,
      text: t`Try it in the test console, or copy the ready-made curl and Python calls. Latency and throughput appear live.`,
    },
  ];
  return (
    <section className={classes["card"]} aria-label={t`First steps`}>
      <div className={classes["intro"]}>
        <Logo size={56} />
        <h2>
          <Trans>From a model file to a live endpoint</Trans>
        </h2>
        <p>
          <Trans>Nothing is deployed yet. It takes about two minutes.</Trans>
        </p>
        <div className={classes["buttons"]}>
          <RefusingLink needs="deploy" link={paths.deploy()} size="sm" leftSection={<IconRocket size={17} />}>
            <Trans>Deploy a model</Trans>
          </RefusingLink>
          <RefusingButton needs="deploy" size="sm" variant="default" loading={sample.isPending} onClick={() => sample.mutate()}>
            <Trans>Deploy sample model</Trans>
          </RefusingButton>
          <RefusingLink needs="operate" link={paths.joinNode()} size="sm" variant="default">
            <Trans>Join a node</Trans>
          </RefusingLink>
        </div>
        <Installation overview={overview} />
      </div>
      <ol className={classes["steps"]}>
        {steps.map((step, index) => (
          <li key={step.title} data-done={step.done ? "" : undefined}>
            <span className={classes["mark"]}>{step.done ? <IconCheck size={15} stroke={2.2} aria-label={t`Done`} /> : index + 1}</span>
            <div>
              <h3>{step.title}</h3>
              <p>{step.text}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
