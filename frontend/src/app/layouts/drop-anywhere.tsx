/** A model may be dropped on any page: it opens the wizard. Pages with a drop zone of their own keep what lands there. */
import { t } from "@lingui/core/macro";
import { IconFileUpload } from "@tabler/icons-react";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useRefusal } from "@/api/permissions";
import { offerDropped, readDropped } from "../dropped-files";
import { paths } from "../paths";
import classes from "./drop-anywhere.module.css";

/** Files that may be models: pictures are for the test console. */
function carriesModel(event: DragEvent): boolean {
  const items = [...(event.dataTransfer?.items ?? [])].filter((item) => item.kind === "file");
  return items.length > 0 && !items.every((item) => item.type.startsWith("image/"));
}

export function DropAnywhere() {
  const [over, setOver] = useState(false);
  const navigate = useNavigate();
  const refusal = useRefusal("deploy");
  const inWizard = useRouterState({ select: (state) => state.location.pathname === "/deploy/new" });
  useEffect(() => {
    let ending: ReturnType<typeof setTimeout> | undefined;
    const hover = (event: DragEvent) => {
      if (event.defaultPrevented || !carriesModel(event)) return;
      event.preventDefault();
      setOver(true);
      // why a timer: leaving the window is told by nothing that all browsers send.
      clearTimeout(ending);
      ending = setTimeout(() => setOver(false), 400);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented || !event.dataTransfer || !carriesModel(event)) return;
      event.preventDefault();
      if (refusal !== undefined) return;
      void readDropped(event.dataTransfer).then(async (files) => {
        if (!inWizard) await navigate(paths.deploy());
        offerDropped(files);
      });
    };
    window.addEventListener("dragover", hover);
    window.addEventListener("drop", drop);
    return () => {
      clearTimeout(ending);
      window.removeEventListener("dragover", hover);
      window.removeEventListener("drop", drop);
    };
  }, [inWizard, navigate, refusal]);
  if (!over || inWizard) return null;
  return (
    <div className={classes["banner"]} role="status">
      <IconFileUpload size={20} stroke={1.7} aria-hidden />
      {refusal ?? t`Drop to deploy this model`}
    </div>
  );
}
