/** Stand-in until the page is built. */
export function LogsTab() {
  return <p>LogsTab</p>;
}
