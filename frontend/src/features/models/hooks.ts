/** The model and version of the current page: loaded by the layout, so that the tabs can count on them. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { modelQuery, modelVersionQuery } from "@/api/models";
import type { Model, ModelVersion } from "@/api/types";

export function useVersion(): { name: string; model: Model; version: ModelVersion } {
  const { name, version } = useParams({ from: "/app/models/$name/versions/$version" });
  const model = useSuspenseQuery(modelQuery(name)).data;
  const wanted = version === "latest" ? "latest" : Number(version);
  return { name, model, version: useSuspenseQuery(modelVersionQuery(name, wanted)).data };
}
