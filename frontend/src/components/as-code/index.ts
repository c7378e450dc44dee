/** Any action as a command, a REST call or a file. */
export { AsCodeButton } from "./as-code-button";
export { showAsCode } from "./as-code-store";
export { asCodeWords } from "./recipe";
export type { ApiCall, Recipe } from "./recipe";
