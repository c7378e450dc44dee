/** Puts a component into the page as the studio does: theme, server state, addresses. The made-up installation answers. */
import { createMemoryHistory, createRootRoute, createRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, type RenderResult } from "vitest-browser-react";
import { Providers } from "@/app/providers";
import { makeQueryClient } from "@/app/query-client";
import { makeRouter } from "@/app/router";

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

/** The whole studio, at an address: for what pages do to one another. Its router leads from there. */
export async function showStudio(at: string): Promise<ReturnType<typeof makeRouter>> {
  const queryClient = makeQueryClient();
  const router = makeRouter(queryClient);
  router.update({ ...router.options, history: createMemoryHistory({ initialEntries: [at] }) });
  await render(
    <Providers queryClient={queryClient}>
      <RouterProvider router={router} />
    </Providers>,
  );
  return router;
}
