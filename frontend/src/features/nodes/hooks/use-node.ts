/** The node of the page, for its tabs: the layout shows them only once it is there. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { nodeQuery } from "@/api/nodes";
import type { NodeItem } from "@/api/types";

export function useNode(): NodeItem {
  const { name } = useParams({ from: "/app/nodes/$name" });
  const { data } = useQuery(nodeQuery(name));
  if (!data) throw new Error(`The page of ${name} was drawn before its node was read`);
  return data;
}
