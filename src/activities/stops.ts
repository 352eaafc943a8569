/**
 * Why an attempt stops before its handler returns. Thrown through the handler; remembered by the attempt, so
 * that a handler which swallows it changes nothing.
 */
export type StopKind = 'boundary' | 'lost' | 'fenced' | 'shutdown' | 'timeout';

export class AttemptStop extends Error {
  override readonly name = 'AttemptStop';
  readonly kind: StopKind;

  constructor(kind: StopKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}
