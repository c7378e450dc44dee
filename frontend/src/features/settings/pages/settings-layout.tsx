/** Stand-in until the page is built. */
export function SettingsLayout() {
  return <p>SettingsLayout</p>;
}
