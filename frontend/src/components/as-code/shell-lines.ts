/** Commands as they are typed into a POSIX shell. */

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One argument, in quotes only where the shell would read it otherwise. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export const shellLine = (argv: readonly string[]): string => argv.map(shellWord).join(" ");
