/** Stand-in until the page is built. */
export function OverviewTab() {
  return <p>OverviewTab</p>;
}
