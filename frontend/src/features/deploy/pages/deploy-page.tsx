/** Stand-in until the page is built. */
export function DeployPage() {
  return <p>DeployPage</p>;
}
