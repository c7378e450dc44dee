/** Stand-in until the page is built. */
export function SettingsTab() {
  return <p>SettingsTab</p>;
}
