/** Stand-in until the page is built. */
export function OperationsPage() {
  return <p>OperationsPage</p>;
}
