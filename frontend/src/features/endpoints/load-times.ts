/** How long each version took to load, from what its replicas said. Pure. */
import type { Endpoint } from "@/api/types";

export interface LoadTime {
  deployment: string;
  model: string;
  version: number;
  /** Replicas that have loaded. */
  replicas: number;
  /** In seconds. */
  fastest: number;
  mean: number;
  slowest: number;
}

/** Slowest first; a deployment without a replica that has loaded says nothing. */
export function loadTimes({ deployments }: Pick<Endpoint, "deployments">): LoadTime[] {
  const found = deployments.flatMap(({ name, model, version, replicas }) => {
    const times = replicas.map((replica) => replica.load_seconds).filter((time): time is number => time !== null && time > 0);
    if (times.length === 0) return [];
    const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
    return [{ deployment: name, model, version, replicas: times.length, fastest: Math.min(...times), mean, slowest: Math.max(...times) }];
  });
  return found.sort((a, b) => b.slowest - a.slowest);
}
