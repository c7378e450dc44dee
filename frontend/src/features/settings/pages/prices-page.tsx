/** What an hour of an instance type or of a node costs. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, NumberInput, Select, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { pricesQuery, setPrices } from "@/api/capacity";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Prices } from "@/api/types";
import { Card } from "@/components/card";
import { LoadProblem } from "@/components/forbidden";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RoleNote } from "@/components/role-note";
import { SkeletonRows } from "@/components/skeleton";
import { isOfPrice, type PriceKind, type PriceRow, pricesOf, rowProblem, rowsOf } from "../price-form";
import classes from "./settings.module.css";

const KINDS: { value: PriceKind; label: string }[] = [
  { value: "instance_type", label: t`Instance type` },
  { value: "node", label: t`Node` },
  { value: "label", label: t`Nodes with the label` },
];
/** A row of the form; the number stays its own while others come and go. */
type Row = PriceRow & { id: number };
const numbered = (prices: Prices): Row[] => rowsOf(prices).map((row, id) => ({ ...row, id }));

function PriceFields({
  row,
  rows,
  off,
  onChange,
  onRemove,
}: {
  row: Row;
  rows: readonly Row[];
  off: boolean;
  onChange: (change: Partial<Row>) => void;
  onRemove: () => void;
}) {
  const problem = rowProblem(row, rows);
  const what = row.name.trim() || t`a new row`;
  return (
    <div className={classes["priceRow"]} role="group" aria-label={t`Price of ${what}`}>
      <Select
        label={t`Of`}
        disabled={off}
        data={KINDS}
        allowDeselect={false}
        value={row.kind}
        onChange={(kind) => onChange({ kind: (kind ?? "node") as PriceKind })}
      />
      <TextInput
        label={row.kind === "label" ? t`Label` : t`Name`}
        disabled={off}
        placeholder={row.kind === "label" ? "zone=cellar" : undefined}
        value={row.name}
        error={isOfPrice(problem) ? undefined : problem}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <NumberInput
        label={t`Per hour`}
        disabled={off}
        min={0}
        max={1_000_000}
        decimalScale={6}
        allowNegative={false}
        value={row.perHour}
        error={isOfPrice(problem) ? problem : undefined}
        onChange={(perHour) => onChange({ perHour })}
      />
      {off ? null : (
        <ActionIcon variant="default" size={30} aria-label={t`Remove the price of ${what}`} onClick={onRemove}>
          <IconTrash size={15} />
        </ActionIcon>
      )}
    </div>
  );
}

function PricesForm({ prices }: { prices: Prices }) {
  const queryClient = useQueryClient();
  const off = useRefusal("administer") !== undefined;
  const [currency, setCurrency] = useState(prices.currency);
  const [rows, setRows] = useState<readonly Row[]>(() => numbered(prices));
  const unnamed = rows.length > 0 && currency.trim() === "";
  const wrong = unnamed || rows.some((row) => rowProblem(row, rows) !== undefined);
  const save = useMutation({
    mutationFn: () => setPrices(pricesOf(currency, rows)),
    onSuccess: async (saved) => {
      queryClient.setQueryData(keys.prices, saved);
      await queryClient.invalidateQueries({ queryKey: keys.capacity.all });
      notifyDone(t`The prices are saved`);
    },
  });
  const add = () =>
    setRows((old) => [...old, { kind: "instance_type", name: "", perHour: "", id: Math.max(0, ...old.map((row) => row.id)) + 1 }]);
  return (
    <form
      className={classes["tall"]}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <TextInput
        label={t`Currency`}
        description={t`one text for all prices`}
        w={200}
        maxLength={16}
        disabled={off}
        value={currency}
        error={unnamed ? t`Expected a text such as EUR` : undefined}
        onChange={(event) => setCurrency(event.currentTarget.value)}
      />
      {rows.map((row) => (
        <PriceFields
          key={row.id}
          row={row}
          rows={rows}
          off={off}
          onChange={(change) => setRows((old) => old.map((one) => (one.id === row.id ? { ...one, ...change } : one)))}
          onRemove={() => setRows((old) => old.filter((one) => one.id !== row.id))}
        />
      ))}
      {rows.length === 0 ? (
        <p className="secondary">
          <Trans>No prices yet: the page Capacity shows no costs.</Trans>
        </p>
      ) : null}
      {save.error ? <ProblemCard error={save.error} title={t`The prices could not be saved`} /> : null}
      {off ? null : (
        <div className={classes["actions"]}>
          <Button variant="default" leftSection={<IconPlus size={16} />} onClick={add}>
            <Trans>Add a price</Trans>
          </Button>
          <Button type="submit" disabled={wrong} loading={save.isPending}>
            <Trans>Save the prices</Trans>
          </Button>
        </div>
      )}
    </form>
  );
}

export function PricesPage() {
  const { data, error, refetch } = useQuery(pricesQuery());
  if (error && !data) return <LoadProblem error={error} what={t`The prices`} needs="read" onRetry={() => void refetch()} />;
  return (
    <div className={classes["wide"]}>
      <RoleNote needs="administer" to={t`change prices`} />
      <Card title={t`Prices`} hint={t`a replica costs its instance type's price; one without, its share of its node's`}>
        {data ? <PricesForm prices={data} /> : <SkeletonRows rows={3} label={t`Loading the prices`} />}
      </Card>
    </div>
  );
}
