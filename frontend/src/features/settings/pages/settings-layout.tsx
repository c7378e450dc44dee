/** Settings with their tabs. */
import { t } from "@lingui/core/macro";
import { Outlet } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { Tabs } from "@/components/tabs";

export function SettingsLayout() {
  usePageTitle(t`Settings`);
  return (
    <>
      <PageHeader title={t`Settings`} />
      <Tabs
        label={t`Settings`}
        tabs={[
          { label: t`Profile`, link: paths.settings() },
          { label: t`API tokens`, link: paths.tokens() },
          { label: t`Users`, link: paths.users() },
          { label: t`Service accounts`, link: paths.serviceAccounts() },
          { label: t`Projects`, link: paths.projects() },
          { label: t`Instance types`, link: paths.instanceTypes() },
          { label: t`Prices`, link: paths.prices() },
          { label: t`Storage`, link: paths.storage() },
          { label: t({ message: "About", context: "of the studio" }), link: paths.about() },
        ]}
      />
      <Outlet />
    </>
  );
}
