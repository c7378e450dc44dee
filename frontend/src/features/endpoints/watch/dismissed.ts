/** Which changes of traffic a person has put away, kept in this browser: nobody else misses them. */
const KEY = "shoal.traffic-change-dismissed";
/** The newest are remembered: a change is told of for an hour. */
const MOST = 20;

const read = (): string[] => (localStorage.getItem(KEY) ?? "").split(",").filter(Boolean);

export const isDismissed = (mark: string): boolean => read().includes(mark);

export function dismiss(mark: string): void {
  localStorage.setItem(KEY, [mark, ...read().filter((one) => one !== mark)].slice(0, MOST).join(","));
}
