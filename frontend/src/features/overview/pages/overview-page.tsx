/** Stand-in until the page is built. */
export function OverviewPage() {
  return <p>OverviewPage</p>;
}
