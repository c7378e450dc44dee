/** Stand-in until the page is built. */
export function EndpointLayout() {
  return <p>EndpointLayout</p>;
}
