/** A deployment that is ready without traffic: the next step is to give it some. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { endpointQuery, setTraffic } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { problemText } from "@/api/problem";
import { RefusingButton } from "@/components/refusing-button";
import { ToneIcon } from "@/components/status";
import classes from "../deploy.module.css";
import { withShare } from "./share";

const FIRST_SHARE = 10;

const words = (traffic: Readonly<Record<string, number>>): string =>
  Object.entries(traffic)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${name} ${share} %`)
    .join(", ") || "nobody";

export function FirstTraffic({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const queryClient = useQueryClient();
  const { data } = useQuery(endpointQuery(endpoint));
  const move = useMutation({
    mutationFn: ({ traffic, seen }: { traffic: Record<string, number>; seen: string }) => setTraffic(endpoint, traffic, seen),
    onSuccess: (next) => queryClient.setQueryData(keys.endpoints.one(endpoint), next),
  });
  if (!data) return null;
  const share = data.traffic[deployment] ?? 0;
  if (share > 0) {
    return (
      <p className={classes["hint"]} role="status">
        Traffic: {words(data.traffic)}.{move.isSuccess ? " Watch its errors and latency on the endpoint's page." : ""}
      </p>
    );
  }
  const next = withShare(data.traffic, deployment, FIRST_SHARE);
  return (
    <div className={classes["sampleHead"]}>
      <RefusingButton
        needs="deploy"
        variant="default"
        onClick={() => move.mutate({ traffic: next, seen: data.etag })}
        loading={move.isPending}
      >
        Send {next[deployment]} % traffic
      </RefusingButton>
      {move.error ? (
        <span className={classes["verdict"]} role="alert">
          <ToneIcon tone="error" label="Failed" /> {problemText(move.error)}
        </span>
      ) : (
        <span className={classes["hint"]}>
          Now: {words(data.traffic)}. After: {words(next)}.
        </span>
      )}
    </div>
  );
}
