/** Stand-in until the page is built. */
export function NodePage() {
  return <p>NodePage</p>;
}
