/** The pages of settings. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { usersSearch } from "../search";
import { app } from "./frame";

const settings = createRoute({
  getParentRoute: () => app,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/pages/settings-layout"), "SettingsLayout"),
});

const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/settings/profile", replace: true });
  },
});

const settingsProfile = createRoute({
  getParentRoute: () => settings,
  path: "profile",
  component: lazyRouteComponent(() => import("@/features/settings/pages/profile-page"), "ProfilePage"),
});

const settingsTokens = createRoute({
  getParentRoute: () => settings,
  path: "tokens",
  component: lazyRouteComponent(() => import("@/features/settings/pages/tokens-page"), "TokensPage"),
});

const settingsUsers = createRoute({
  getParentRoute: () => settings,
  path: "users",
  validateSearch: usersSearch,
  component: lazyRouteComponent(() => import("@/features/settings/pages/users-page"), "UsersPage"),
});

const settingsProjects = createRoute({
  getParentRoute: () => settings,
  path: "projects",
  component: lazyRouteComponent(() => import("@/features/settings/pages/projects-page"), "ProjectsPage"),
});

const settingsServiceAccounts = createRoute({
  getParentRoute: () => settings,
  path: "service-accounts",
  component: lazyRouteComponent(() => import("@/features/settings/pages/service-accounts-page"), "ServiceAccountsPage"),
});

const settingsInstanceTypes = createRoute({
  getParentRoute: () => settings,
  path: "instance-types",
  component: lazyRouteComponent(() => import("@/features/settings/pages/instance-types-page"), "InstanceTypesPage"),
});

const settingsPrices = createRoute({
  getParentRoute: () => settings,
  path: "prices",
  component: lazyRouteComponent(() => import("@/features/settings/pages/prices-page"), "PricesPage"),
});

const settingsStorage = createRoute({
  getParentRoute: () => settings,
  path: "storage",
  component: lazyRouteComponent(() => import("@/features/settings/pages/storage-page"), "StoragePage"),
});

const settingsAbout = createRoute({
  getParentRoute: () => settings,
  path: "about",
  component: lazyRouteComponent(() => import("@/features/settings/pages/about-page"), "AboutPage"),
});

export const settingsRoutes = [
  settings.addChildren([
    settingsIndex,
    settingsProfile,
    settingsTokens,
    settingsUsers,
    settingsServiceAccounts,
    settingsProjects,
    settingsInstanceTypes,
    settingsPrices,
    settingsStorage,
    settingsAbout,
  ]),
] as const;
