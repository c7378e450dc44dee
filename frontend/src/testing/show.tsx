/** Puts a component into the page as the studio does: theme, server state, addresses. The made-up installation answers. */
import { createMemoryHistory, createRootRoute, createRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, type RenderResult } from "vitest-browser-react";
import { Providers } from "@/app/providers";
import { makeQueryClient } from "@/app/query-client";

interface Shown extends RenderResult {
  /** Path and search of the page that one is on now. */
  address: () => string;
}

/** Any address shows the same component, so that its links lead somewhere. */
export async function show(component: React.ReactNode, at = "/"): Promise<Shown> {
  const root = createRootRoute({ component: () => <main style={{ padding: 16 }}>{component}</main>, notFoundComponent: () => null });
  const router = createRouter({
    routeTree: root.addChildren([createRoute({ getParentRoute: () => root, path: "$" })]),
    history: createMemoryHistory({ initialEntries: [at] }),
  });
  const shown = await render(
    <Providers queryClient={makeQueryClient()}>
      <RouterProvider router={router as never} />
    </Providers>,
  );
  return { ...shown, address: () => router.state.location.href };
}
