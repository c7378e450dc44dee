/** Projects: a namespace with members and a quota. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { ProjectChange, ProjectNew, ProjectRole } from "./types";

/** Those that one has a role in, or all; archived ones come, too. */
export const projectsQuery = () =>
  queryOptions({
    queryKey: keys.projects.all,
    queryFn: ({ signal }) =>
      everyPage((page) => api.GET("/api/v1/projects", { params: { query: { ...page, archived: "all" as const } }, signal })),
    staleTime: 30_000,
  });

const of = (project: string) => ({ params: { path: { project } } });
const ofMember = (project: string, username: string) => ({ params: { path: { project, username } } });

export const createProject = (body: ProjectNew) => answer(api.POST("/api/v1/projects", { body }));
export const updateProject = (name: string, body: ProjectChange) => answer(api.PATCH("/api/v1/projects/{project}", { ...of(name), body }));
export const archiveProject = (name: string) => answer(api.POST("/api/v1/projects/{project}/archive", of(name)));
export const restoreProject = (name: string) => answer(api.POST("/api/v1/projects/{project}/restore", of(name)));

export const membersQuery = (project: string) =>
  queryOptions({
    queryKey: keys.projects.members(project),
    queryFn: ({ signal }) =>
      everyPage((page) => api.GET("/api/v1/projects/{project}/members", { params: { path: { project }, query: page }, signal })),
  });
export const setMember = (project: string, username: string, role: ProjectRole) =>
  answer(api.PUT("/api/v1/projects/{project}/members/{username}", { ...ofMember(project, username), body: { role } }));
export const removeMember = (project: string, username: string) =>
  answer(api.DELETE("/api/v1/projects/{project}/members/{username}", ofMember(project, username)));
