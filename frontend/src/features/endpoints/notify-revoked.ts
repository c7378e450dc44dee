/** Says that what opened an endpoint does so no more, once every gateway has confirmed that, and else who has not. */
import { unconfirmedBy } from "@/api/routed";
import { notifyDone, notifyProblem } from "@/components/notify";

export async function notifyRevoked(endpoint: string, done: string, open: string): Promise<void> {
  try {
    const missing = await unconfirmedBy(endpoint);
    if (missing === "") notifyDone(done);
    else notifyProblem(new Error(missing), open);
  } catch (error) {
    notifyProblem(error, open);
  }
}
