/** Amounts of money as they are shown: two decimals, or three figures of what is less than a tenth, then the currency that was set. */
import { MISSING } from "@/components/format";
import { currentLanguage } from "@/i18n/language";

const whole = new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** What a thousand requests cost is often far less than a cent. */
const small = new Intl.NumberFormat(currentLanguage(), { maximumSignificantDigits: 3 });

export const money = (amount: number | null | undefined, currency: string): string =>
  amount === null || amount === undefined ? MISSING : `${(amount > 0 && amount < 0.1 ? small : whole).format(amount)}\u00a0${currency}`;
