/** What gateways measure: they see endpoints and deployments, no replicas. Names are the server's. */
import type { MetricInfo } from "./metric";

const QUANTILE = "A quantile of the gateway's own histogram (buckets of 5 %), from the first byte received to the last byte sent.";

export const GATEWAY = {
  error_rate: {
    unit: "percent",
    window: 5,
    id: "errors",
    title: "Error rate",
    hint: "share of all answers, at the gateway",
    help: "Answers with a status of 400 to 599 divided by all answers. No requests, no value.",
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
    title: "Latency p50",
    hint: "request, at the gateway",
    help: `Half of the requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  p95_us: {
    unit: "duration",
    window: 5,
    label: "p95",
    color: "s5",
    id: "p95",
    title: "Latency p95",
    hint: "request, at the gateway",
    help: `95 of 100 requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  p99_us: {
    unit: "duration",
    window: 5,
    label: "p99",
    color: "s2",
    id: "p99",
    title: "Latency p99",
    hint: "request, at the gateway",
    help: `99 of 100 requests were faster. ${QUANTILE}`,
    replicas: "merged",
  },
  received: { unit: "bytes/s", window: 2, label: "received", color: "s1" },
  sent: { unit: "bytes/s", window: 2, label: "sent", color: "s4" },
} as const satisfies Record<string, MetricInfo>;
