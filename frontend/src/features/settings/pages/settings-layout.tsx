/** Settings with their tabs. */
import { Outlet } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { Tabs } from "@/components/tabs";

export function SettingsLayout() {
  usePageTitle("Settings");
  return (
    <>
      <PageHeader title="Settings" />
      <Tabs
        label="Settings"
        tabs={[
          { label: "Profile", link: paths.settings() },
          { label: "API tokens", link: paths.tokens() },
          { label: "Users", link: paths.users() },
          { label: "Service accounts", link: paths.serviceAccounts() },
          { label: "Projects", link: paths.projects() },
          { label: "Instance types", link: paths.instanceTypes() },
          { label: "Prices", link: paths.prices() },
          { label: "Storage", link: paths.storage() },
          { label: "About", link: paths.about() },
        ]}
      />
      <Outlet />
    </>
  );
}
