/** Which version this is, and where its documents are. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { Logo } from "@/components/logo";
import classes from "./settings.module.css";

export function AboutPage() {
  const { data } = useQuery(sessionQuery());
  return (
    <div className={classes["stack"]}>
      <Card>
        <div className={classes["about"]}>
          <Logo size={64} />
          <div>
            <h2>Shoal </h2>
            <p>
              <Trans>From a model file to a live endpoint</Trans>
            </p>
          </div>
        </div>
      </Card>
      <Card title={t`This installation`}>
        <dl className={classes["facts"]}>
          <div>
            <dt>
              <Trans>Version</Trans>
            </dt>
            <dd>{data?.version ?? "–"}</dd>
          </div>
          <div>
            <dt>
              <Trans>REST interface</Trans>
            </dt>
            <dd>
              <a className="link mono" href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
                /api/v1/openapi.json{" "}
              </a>
            </dd>
          </div>
          <div>
            <dt>
              <Trans>Health</Trans>
            </dt>
            <dd>
              <a className="link mono" href="/readyz" target="_blank" rel="noreferrer">
                /readyz{" "}
              </a>
            </dd>
          </div>
        </dl>
      </Card>
    </div>
  );
}
