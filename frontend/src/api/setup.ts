/** The first run: whether it is still to come, and how the first administrator is named. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { readSession } from "./session";
import type { Session } from "./types";

export const setupQuery = () =>
  queryOptions({ queryKey: keys.setup, queryFn: ({ signal }) => answer(api.GET("/api/v1/setup", { signal })) });

/** Name and password of the first administrator; this browser is signed in afterwards. */
export async function finishSetup(body: { token: string; username: string; password: string }): Promise<Session> {
  await answer(api.POST("/api/v1/setup", { body }));
  return readSession();
}
