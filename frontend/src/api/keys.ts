/** Query keys in one place, so that live events can patch and invalidate what the pages read. */
export const keys = {
  session: ["session"] as const,
  tokens: ["tokens"] as const,
  sessions: ["sessions"] as const,
  users: {
    all: ["users"] as const,
    list: (q: string) => ["users", q] as const,
  },
  instanceTypes: ["instance-types"] as const,
  storage: ["storage"] as const,
  system: ["system"] as const,
  overview: ["overview"] as const,
  models: {
    all: ["models"] as const,
    list: (search: Record<string, unknown>) => ["models", "list", search] as const,
    one: (name: string) => ["models", "one", name] as const,
    versions: (name: string) => ["models", "one", name, "versions"] as const,
    version: (name: string, version: number | "latest") => ["models", "one", name, "versions", version] as const,
  },
  endpoints: {
    all: ["endpoints"] as const,
    list: ["endpoints", "list"] as const,
    one: (name: string) => ["endpoints", "one", name] as const,
    snippets: (name: string) => ["endpoints", "one", name, "snippets"] as const,
  },
  operations: {
    all: ["operations"] as const,
    list: (search: Record<string, unknown>) => ["operations", "list", search] as const,
    pages: (filter: Record<string, unknown>) => ["operations", "pages", filter] as const,
    one: (id: string) => ["operations", "one", id] as const,
  },
  activity: (filter: Record<string, unknown>) => ["events", "activity", filter] as const,
  events: (subject?: string) => ["events", subject ?? null] as const,
  nodes: {
    all: ["nodes"] as const,
    list: ["nodes", "list"] as const,
    one: (name: string) => ["nodes", "one", name] as const,
    cache: (name: string, q: string) => ["nodes", "cache", name, q] as const,
    gpus: (name: string) => ["nodes", "gpus", name] as const,
    drain: (names: readonly string[]) => ["nodes", "drain", ...names] as const,
  },
  joinToken: (id: number) => ["join-token", id] as const,
  drafts: {
    list: ["drafts", "list"] as const,
    one: (id: string) => ["drafts", "one", id] as const,
  },
  testCases: {
    all: ["test-cases"] as const,
    list: (model: string) => ["test-cases", "list", model] as const,
    one: (id: string) => ["test-cases", "one", id] as const,
  },
  uploads: { one: (id: string) => ["uploads", id] as const },
};
