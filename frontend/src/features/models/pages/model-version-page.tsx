/** Stand-in until the page is built. */
export function ModelVersionPage() {
  return <p>ModelVersionPage</p>;
}
