/** Preloaded into a process whose clock is wrong: so many ms ahead (OTHER_CLOCK_MS; negative: behind). */
const ahead = Number(process.env['OTHER_CLOCK_MS'] ?? 0);
const now = Date.now.bind(Date);

globalThis.Date = class extends Date {
  constructor(...args: [] | [number | string | Date]) {
    if (args.length === 0) super(now() + ahead);
    else super(...(args as [number]));
  }

  static override now(): number {
    return now() + ahead;
  }
} as DateConstructor;
