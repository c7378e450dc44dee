/** Stand-in until the page is built. */
export function OperationPage() {
  return <p>OperationPage</p>;
}
