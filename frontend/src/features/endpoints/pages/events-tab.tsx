/** Stand-in until the page is built. */
export function EventsTab() {
  return <p>EventsTab</p>;
}
