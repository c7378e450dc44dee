/** Whether keys without Ctrl act, as the person has chosen; kept in this browser. */

const OFF_KEY = "shoal.keys-off";

/** Single-letter keys can be switched off in the profile (WCAG 2.1.4). */
export const singleKeysOff = (): boolean => localStorage.getItem(OFF_KEY) === "1";
export const setSingleKeysOff = (off: boolean): void => localStorage.setItem(OFF_KEY, off ? "1" : "0");
