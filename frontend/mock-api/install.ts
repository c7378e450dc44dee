/** Replaces the network by an in-memory installation. */
export function install(): void {}
