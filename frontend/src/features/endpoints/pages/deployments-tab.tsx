/** Stand-in until the page is built. */
export function DeploymentsTab() {
  return <p>DeploymentsTab</p>;
}
