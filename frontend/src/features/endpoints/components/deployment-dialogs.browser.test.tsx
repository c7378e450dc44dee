import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { DeleteDialog, PauseDialog } from "./deployment-dialogs";

function Asked({ traffic, Dialog }: { traffic: Record<string, number>; Dialog: typeof DeleteDialog }) {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  const [blue] = data?.deployments ?? [];
  if (!data || !blue) return null;
  return <Dialog endpoint={{ ...data, traffic }} deployment={blue} opened onClose={() => undefined} />;
}

test("what becomes of the traffic of a deployment that goes is told as it will be", async () => {
  const dialog = page.getByRole("dialog");
  const both = await show(<Asked Dialog={DeleteDialog} traffic={{ blue: 50, green: 50 }} />);
  await expect.element(dialog).toHaveTextContent("blue receives 50 % of the traffic. From then on those requests go to green.");
  await both.unmount();
  const alone = await show(<Asked Dialog={DeleteDialog} traffic={{ blue: 100, green: 0 }} />);
  await expect.element(dialog).toHaveTextContent("Those requests will be refused");
  await alone.unmount();
  await show(<Asked Dialog={PauseDialog} traffic={{ blue: 50, green: 50 }} />);
  await expect.element(dialog).toHaveTextContent("Those requests will be refused");
});
