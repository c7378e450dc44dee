/** Amounts of money as they are shown: three significant figures, then the currency that was set. */
import { MISSING, significant } from "@/components/format";

export const money = (amount: number | null | undefined, currency: string): string =>
  amount === null || amount === undefined ? MISSING : `${significant(amount)}\u00a0${currency}`;
