/** Why an endpoint of the made-up installation is slow: one that waits for batches of its own, and one that nobody asks. */
import type { Bottlenecks } from "../src/api/types";

const BUSY: Bottlenecks = {
  deployment: "blue",
  seconds: 60,
  summary: "A request takes 85.1 ms on average, 86 % of it since requests are computed one by one.",
  requests: 5_640,
  refused: 0,
  total_us: 85_100,
  p50_us: 82_300,
  p95_us: 104_000,
  p99_us: 131_000,
  parts: [
    { name: "client_sends", us: 214 },
    { name: "gateway", us: 572 },
    { name: "protocol", us: 96 },
    { name: "queue", us: 73_400 },
    { name: "compute_input", us: 287 },
    { name: "compute_infer", us: 10_400 },
    { name: "compute_output", us: 52 },
    { name: "client_takes", us: 79 },
  ],
  findings: [
    {
      code: "no_batching",
      title: "Requests are computed one by one",
      text: "resnet50 takes batches of 32, and has no dynamic_batching: requests wait 73.4 ms while its instances are at work 99 % of the time.",
      change: "Add dynamic_batching to the configuration of this model.",
      us: 73_400,
      area: "config",
      where: "resnet50",
    },
    {
      code: "few_instances",
      title: "There are too few instances",
      text: "The instances of resnet50 (1) are at work 99 % of the time and requests wait 73.4 ms; for a processor its threads wait 21 µs.",
      change: "Raise count in instance_group of this model, or the replicas of the deployment.",
      us: 36_700,
      area: "scale",
      where: "resnet50",
    },
  ],
};

const QUIET: Bottlenecks = {
  ...BUSY,
  summary: "0 requests were answered in the last 60 s: at least 10 are needed to say why.",
  requests: 0,
  total_us: 0,
  p50_us: null,
  p95_us: null,
  p99_us: null,
  parts: BUSY.parts.map((part) => ({ ...part, us: 0 })),
  findings: [],
};

export const bottlenecksOf = (endpoint: string): Bottlenecks => (endpoint === "resnet50-prod" ? BUSY : QUIET);
