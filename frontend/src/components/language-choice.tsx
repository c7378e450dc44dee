/** In which language the studio speaks. */
import { t } from "@lingui/core/macro";
import { changeLanguage, currentLanguage, LANGUAGES, type Language } from "@/i18n/language";
import { Segmented } from "./segmented";

const OPTIONS = (Object.keys(LANGUAGES) as Language[]).map((value) => ({ value, label: LANGUAGES[value] }));

export const LanguageChoice = () => <Segmented label={t`Language`} value={currentLanguage()} options={OPTIONS} onChange={changeLanguage} />;
