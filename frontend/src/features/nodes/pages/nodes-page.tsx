/** Stand-in until the page is built. */
export function NodesPage() {
  return <p>NodesPage</p>;
}
