/** Stand-in until the page is built. */
export function EndpointsPage() {
  return <p>EndpointsPage</p>;
}
