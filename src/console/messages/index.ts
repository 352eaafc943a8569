/** The words of each language; types compare their keys. */
import type { Language } from '../../config.ts';
import { EN } from './en.ts';
import type { Messages } from './en.ts';
import { ZH } from './zh.ts';

export type PageLanguage = Language;
export type { Messages };
export const MESSAGES: Readonly<Record<PageLanguage, Messages>> = { en: EN, 'zh-CN': ZH };
