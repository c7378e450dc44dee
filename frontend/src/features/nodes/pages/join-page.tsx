/** Stand-in until the page is built. */
export function JoinPage() {
  return <p>JoinPage</p>;
}
