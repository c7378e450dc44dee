/** Saved cases of the made-up installation; green answers one of them otherwise than expected. */
import type { TestCase, TestOutcome } from "../src/api/types";
import { ago } from "./db";

const saved = (id: string, name: string, golden: boolean): TestCase => {
  const tensor = { name: "x", datatype: "FP32", shape: [1, 4] };
  return {
    id,
    project: "default",
    name,
    description: "",
    model: "species",
    endpoint: "resnet50-prod",
    tensors: [tensor],
    golden,
    created_by: "maria",
    created_at: ago(86_400),
    updated_at: ago(3_600),
    inputs: [{ ...tensor, data: [1, 2, 3, 4] }],
    options: {},
    expected: golden ? [{ name: "logits", datatype: "FP32", shape: [1, 4], data: [0, 0, 0, 1] }] : [],
    tolerance: { relative: 1e-4, absolute: 1e-6 },
  };
};

let cases = [saved("c1", "a finch", true), saved("c2", "an owl", true), saved("c3", "no bird", false)];

const outcome = ({ id, name, model }: TestCase, wrong: boolean): TestOutcome => {
  const text = "3 of 4 values differ, most of all [0, 3]: 0.41, expected 1";
  return {
    id,
    case: name,
    model,
    status: wrong ? "differs" : "passed",
    seconds: 0.0123,
    text: wrong ? `logits ${text}` : "",
    differences: wrong ? [{ output: "logits", text, count: 3 }] : [],
  };
};

/** `accept` names cases, `run` asks the golden ones. */
export function casesAsked(endpoint: string, body: Record<string, unknown>) {
  const deployment = String(body["deployment"]);
  const named = body["cases"] as string[] | undefined;
  cases = cases.map((one) => (named?.includes(one.id) ? { ...one, golden: true, description: `accepted ${deployment}` } : one));
  const asked = cases.filter((one) => (named ? named.includes(one.id) : one.golden));
  const outcomes = asked.map((one) => outcome(one, deployment === "green" && one.id === "c2" && one.description !== "accepted green"));
  const wrong = outcomes.filter((one) => one.status === "differs").length;
  return { endpoint, deployment, passed: outcomes.length - wrong, wrong, unanswered: 0, cases: outcomes };
}

export function caseRoute(method: string, id: string | undefined, model: string, body: Record<string, unknown>) {
  if (id === undefined) return { items: cases.filter((one) => model === "" || one.model === model), next_cursor: null };
  if (method === "PUT")
    cases = cases.map((one) => (one.id === id ? { ...one, tolerance: body["tolerance"] as TestCase["tolerance"] } : one));
  return cases.find((one) => one.id === id);
}
