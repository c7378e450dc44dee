/** Which columns a person has hidden, per table; kept in this browser, for each user name apart. */

const keyOf = (user: string, table: string): string => `shoal.columns.${user}.${table}`;

/** Unknown names, and what is no list, count as nothing hidden: an old choice never breaks a page. */
export function parseHidden(text: string | null, known: readonly string[]): string[] {
  if (!text) return [];
  const names = text.split(",");
  return known.filter((id) => names.includes(id));
}

export const readHidden = (user: string, table: string, known: readonly string[]): string[] =>
  parseHidden(localStorage.getItem(keyOf(user, table)), known);

export function writeHidden(user: string, table: string, hidden: readonly string[]): void {
  if (hidden.length === 0) localStorage.removeItem(keyOf(user, table));
  else localStorage.setItem(keyOf(user, table), hidden.join(","));
}

/** Columns that may be hidden: not the first with a word for a heading, which says what a row is; nor those without, which hold actions. */
export const optional = <C extends { header: unknown }>(columns: readonly C[]): C[] =>
  columns.filter((column) => typeof column.header === "string").slice(1);

export const toggled = (hidden: readonly string[], id: string): string[] =>
  hidden.includes(id) ? hidden.filter((one) => one !== id) : [...hidden, id];
