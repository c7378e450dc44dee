/** What to do on a fresh installation: a node, a model, a request. */
import { IconCheck, IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { systemQuery } from "@/api/system";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { Logo } from "@/components/logo";
import { RefusingLink } from "@/components/refusing-button";
import { Status } from "@/components/status";
import classes from "./first-steps.module.css";

/** The installation's own parts, so that a first deployment does not run into a broken one. */
function Installation() {
  const { data, error } = useQuery(systemQuery());
  if (error) return <p className={classes["parts"]}>The parts of this installation could not be looked at.</p>;
  if (!data) return null;
  const bad = data.parts.filter((part) => part.state === "error" || part.state === "warning");
  return (
    <p className={classes["parts"]} role="status">
      <Status plain state={bad.length === 0 ? "The installation works" : "The installation needs a look"} tone={bad.length === 0 ? "ok" : "warn"} />
      {bad.length === 0
        ? `${data.parts.length} parts: databases, broker, workers, gateway, nodes, disks.`
        : bad.map((part) => `${part.name}: ${part.summary}`).join("; ")}{" "}
      <Link {...paths.system()} className="link">
        System
      </Link>
    </p>
  );
}

export function FirstSteps({ overview }: { overview: Overview }) {
  const { counts } = overview;
  const steps = [
    {
      title: "A node runs the models",
      done: counts.nodes_online > 0,
      text:
        counts.nodes_online > 0 ? (
          <>{overview.nodes.map((node) => node.name).join(", ")} is online and waits for work.</>
        ) : (
          <>
            No node is online.{" "}
            <Link {...paths.joinNode()} className="link">
              Join a node
            </Link>
            .
          </>
        ),
    },
    {
      title: "Deploy a model",
      done: false,
      text: "Drop an ONNX file or a zipped Triton model repository. It is inspected, registered, placed on a node and gets an authenticated URL.",
    },
    {
      title: "Send a request",
      done: false,
      text: "Try it in the test console, or copy the ready-made curl and Python calls. Latency and throughput appear live.",
    },
  ];
  return (
    <section className={classes["card"]} aria-label="First steps">
      <div className={classes["intro"]}>
        <Logo size={56} />
        <h2>From a model file to a live endpoint</h2>
        <p>Nothing is deployed yet. It takes about two minutes.</p>
        <div className={classes["buttons"]}>
          <RefusingLink needs="deploy" link={paths.deploy()} size="sm" leftSection={<IconRocket size={17} />}>
            Deploy a model
          </RefusingLink>
          <RefusingLink needs="operate" link={paths.joinNode()} size="sm" variant="default">
            Join a node
          </RefusingLink>
        </div>
        <Installation />
      </div>
      <ol className={classes["steps"]}>
        {steps.map((step, index) => (
          <li key={step.title} data-done={step.done ? "" : undefined}>
            <span className={classes["mark"]}>{step.done ? <IconCheck size={15} stroke={2.2} aria-label="Done" /> : index + 1}</span>
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
