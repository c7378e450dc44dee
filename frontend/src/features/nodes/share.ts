/** Used divided by total, or null when the total is not known. */
export const share = (used: number, total: number): number | null => (total > 0 ? used / total : null);
