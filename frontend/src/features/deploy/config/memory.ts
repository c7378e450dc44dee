/** What one instance takes before the first request: the weights as they lie in the file, and room to work in. */
const WORK_SHARE = 0.2;
const RUNTIME_BYTES = 64 * 1024 ** 2;

/** Bytes; a guess from the size of the files alone. */
export const memoryEstimate = (fileBytes: number): number => Math.round(fileBytes * (1 + WORK_SHARE) + RUNTIME_BYTES);
