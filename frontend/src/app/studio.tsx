/** The studio itself. Loaded by main.tsx, which knows the language by then. */
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onUnauthorized } from "@/api/client";
import { keys } from "@/api/keys";
import { Providers } from "./providers";
import { makeQueryClient } from "./query-client";
import { makeRouter } from "./router";

const queryClient = makeQueryClient();
const router = makeRouter(queryClient);

// A call that was answered 401 means that the session has ended: ask again, which leads to the sign-in page.
onUnauthorized(() => {
  queryClient.removeQueries({ queryKey: keys.session });
  void router.invalidate();
});

const container = document.getElementById("root");
if (!container) throw new Error("index.html has no #root");
createRoot(container).render(
  <StrictMode>
    <Providers queryClient={queryClient}>
      <RouterProvider router={router} />
    </Providers>
  </StrictMode>,
);
