/** Answers of a server beside those of the made-up installation, until the test ends. */
import { afterEach } from "vitest";

const madeUp = window.fetch;
afterEach(() => {
  window.fetch = madeUp;
});

export const askMadeUp = (request: Request): Promise<Response> => madeUp(request);

/** What `answer` has none for, the made-up installation answers. */
export function answerBy(answer: (request: Request) => Response | Promise<Response> | undefined): void {
  window.fetch = async (input, init) => {
    const request = new Request(input, init);
    return (await answer(request)) ?? askMadeUp(request);
  };
}

/** To each request of that method and path: this. Tells what they were sent. */
export function answerWith(method: string, path: string, status: number, body: object): unknown[] {
  const sent: unknown[] = [];
  answerBy((request) => {
    if (request.method !== method || !new URL(request.url).pathname.endsWith(path)) return undefined;
    const type = status < 300 ? "application/json" : "application/problem+json";
    return request.json().then((asked: unknown) => {
      sent.push(asked);
      return new Response(JSON.stringify(body), { status, headers: { "Content-Type": type } });
    });
  });
  return sent;
}
