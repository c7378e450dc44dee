/** Signing out: the session ends, the live link closes, and nothing that was read stays in memory. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { signOut } from "@/api/session";
import { paths } from "@/app/paths";
import { closeLive } from "@/live/live";

export function useLeave(): () => Promise<void> {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    const elsewhere = await signOut();
    closeLive();
    queryClient.clear();
    if (elsewhere) {
      window.location.assign(elsewhere);
      return;
    }
    await navigate(paths.login());
  };
}
