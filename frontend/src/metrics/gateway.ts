/** What gateways measure: they see endpoints and deployments, no replicas. Names are the server's. */
import { t } from "@lingui/core/macro";
import type { MetricInfo } from "./metric";

const QUANTILE = t`A quantile of the gateway's own histogram (buckets of 5 %), from the first byte received to the last byte sent.`;

export const GATEWAY = {
  answer_rate: {
    unit: "req/s",
    window: 2,
    id: "requests",
    title: t`Requests`,
    hint: t`answered per second, at the gateway`,
    help: t`Inference requests that the gateway answered per second, whatever the status. What reaches runtimes another way does not count.`,
    fill: true,
  },
  error_rate: {
    unit: "percent",
    window: 5,
    id: "errors",
    title: t`Error rate`,
    hint: t`share of all answers, at the gateway`,
    help: t`Answers with a status of 400 to 599 divided by all answers. No requests, no value.`,
  },
  answers_2xx: { unit: "req/s", window: 2, label: "2xx", color: "s1" },
  errors_4xx: { unit: "req/s", window: 2, label: "4xx", color: "s5" },
  errors_5xx: { unit: "req/s", window: 2, label: "5xx", color: "s2" },
  p50_us: {
    unit: "duration",
    window: 5,
    label: "p50",
    color: "s1",
    id: "p50",
    title: t`Latency p50`,
    hint: t`request, at the gateway`,
    help: t`Half of the requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  p95_us: {
    unit: "duration",
    window: 5,
    label: "p95",
    color: "s5",
    id: "p95",
    title: t`Latency p95`,
    hint: t`request, at the gateway`,
    help: t`95 of 100 requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  p99_us: {
    unit: "duration",
    window: 5,
    label: "p99",
    color: "s2",
    id: "p99",
    title: t`Latency p99`,
    hint: t`request, at the gateway`,
    help: t`99 of 100 requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  received: { unit: "bytes/s", window: 2, label: t`received`, color: "s1" },
  sent: { unit: "bytes/s", window: 2, label: t`sent`, color: "s4" },
} as const satisfies Record<string, MetricInfo>;
