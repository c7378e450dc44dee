/** The experiment of an endpoint; what is looked at is in the URL. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ExperimentView } from "../experiment/experiment-view";
import { useEndpoint } from "../hooks/use-endpoint";

export function ExperimentTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/experiment" });
  const navigate = useNavigate({ from: "/endpoints/$name/experiment" });
  return (
    <ExperimentView
      endpoint={endpoint}
      range={search.range ?? "1h"}
      baseline={search.baseline}
      onRange={(range) => void navigate({ search: (old) => ({ ...old, range: range === "1h" ? undefined : range }), replace: true })}
      onBaseline={(baseline) => void navigate({ search: (old) => ({ ...old, baseline }), replace: true })}
    />
  );
}
