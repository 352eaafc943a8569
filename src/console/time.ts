/** Moments as pages show them: UTC, by the ledger's clock, never this process's. */
import type { PageLanguage } from './messages/index.ts';

/** `2026-05-01 09:00:00`. */
export const moment = (at: string): string => at.slice(0, 19).replace('T', ' ');

/** A browser's `datetime-local` field, taken as UTC. */
export const utc = (at: string): string => `${at.length === 16 ? `${at}:00` : at}Z`;

const UNITS = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000], ['second', 1_000]] as const;

/** "in 4 seconds", "2 hours ago", as seen from another moment. */
export function distance(at: string, from: string, lang: PageLanguage): string {
  const ms = Date.parse(at) - Date.parse(from);
  const [unit, size] = UNITS.find(([, one]) => Math.abs(ms) >= one) ?? (['second', 1_000] as const);
  return new Intl.RelativeTimeFormat(lang, { numeric: 'auto', style: 'short' }).format(Math.trunc(ms / size), unit);
}

/** An age such as "3 h 12 min". */
export function age(ms: number, lang: PageLanguage): string {
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const parts = at < 0 ? [['second', 0] as const] : UNITS.slice(at, at + 2).map(([unit, size], index) => [unit, Math.floor(index === 0 ? ms / size : (ms % (UNITS[at]?.[1] ?? 1)) / size)] as const);
  return parts
    .filter(([, count], index) => index === 0 || count > 0)
    .map(([unit, count]) => new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'short' }).format(count))
    .join(' ');
}
