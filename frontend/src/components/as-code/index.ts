/** Any action as a command, a REST call or a file. */
export { AsCodeButton, type AsCodeButtonProps } from "./as-code-button";
export { showAsCode } from "./as-code-store";
export { asCodeWords } from "./recipe";
export type { ApiCall, Method, Recipe, YamlFile } from "./recipe";
