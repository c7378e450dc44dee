/** Environments of the made-up installation. */
import type { Environment } from "../src/api/types";
import { ago } from "./db";

const one = (name: string, version: number, more: Partial<Environment>): Environment => ({
  name,
  project: "default",
  version,
  description: "",
  tags: {},
  requirements: "",
  conda_file: null,
  image: "",
  declared: {},
  digest: "sha256:".padEnd(71, "4be1c0"),
  archived: false,
  created_by: "maria",
  created_at: ago(86_400 * (4 - version)),
  used_by: [],
  ...more,
});

const SKLEARN = "scikit-learn==1.9.*\npandas>=2\n# JSON of NumPy\norjson\n";

/** The newest first, of each name. */
export const environments: Environment[] = [
  one("sklearn-env", 2, {
    description: "For the regressions.",
    tags: { team: "vision" },
    requirements: SKLEARN,
    conda_file: { name: "model-env", dependencies: ["python=3.11", "scikit-learn=1.9", { pip: ["pandas>=2", "orjson"] }] },
    image: "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04",
    used_by: ["digits", "sentiment"],
  }),
  one("sklearn-env", 1, { requirements: "scikit-learn==1.8.*\n", archived: true }),
  one("torch-env", 1, { requirements: "torch==2.13\nsentence-transformers\n" }),
  one("old-env", 1, { archived: true }),
];

export function named(archived: string | null): Environment[] {
  const newest = environments.filter((item, at) => environments.findIndex((other) => other.name === item.name) === at);
  return newest.filter((item) => archived === "all" || item.archived === (archived === "archived"));
}
