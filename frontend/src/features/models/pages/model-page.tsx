/** Stand-in until the page is built. */
export function ModelPage() {
  return <p>ModelPage</p>;
}
