/** Addresses of `/api/v1` as text: of what is shown, downloaded or sent by other means than `api`. */
const API_ROOT = "/api/v1";

/** Joins path segments, each escaped: names may hold dots, slashes and colons. */
export function apiPath(...segments: (string | number)[]): string {
  return `${API_ROOT}/${segments.map((segment) => encodeURIComponent(String(segment))).join("/")}`;
}
