import type { Door } from '../ledger/index.ts';
import { isUnavailable } from '../ledger/index.ts';

export interface LeaseTarget {
  readonly task: string;
  readonly step: string;
  readonly claim: string;
  readonly leaseMs: number;
  readonly holder: string;
}

export interface LeaseListener {
  /** After each renewal that the ledger granted: the only time at which Temporal hears a heartbeat. */
  readonly renewed: () => void;
  readonly cancelAsked: () => void;
  /** The claim is not the current one any more. */
  readonly lost: (epoch: number) => void;
}

/**
 * Renews a claim's lease three times in its length. A ledger that can't be reached costs nothing: the renewal
 * is tried again and reported as a gap, after which nobody's lease is rescued for one lease length.
 */
export class Lease {
  readonly #door: Door;
  readonly #target: LeaseTarget;
  readonly #listener: LeaseListener;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #gap = false;

  constructor(door: Door, target: LeaseTarget, listener: LeaseListener) {
    this.#door = door;
    this.#target = target;
    this.#listener = listener;
    this.#schedule(target.leaseMs / 3);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(afterMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#renew(), afterMs);
  }

  async #renew(): Promise<void> {
    const { task, step, claim, leaseMs, holder } = this.#target;
    try {
      const answer = await this.#door.leaseRenew(task, step, claim, leaseMs, this.#gap, holder, { patienceMs: 0 });
      if (this.#stopped) return;
      if ('refused' in answer) {
        this.#listener.lost(answer.epoch);
        return;
      }
      this.#gap = false;
      this.#listener.renewed();
      if (answer.cancel) this.#listener.cancelAsked();
      this.#schedule(leaseMs / 3);
    } catch (error) {
      // Anything but an unreachable ledger would be an error of the door: the lease then runs out by itself.
      this.#gap = this.#gap || isUnavailable(error);
      this.#schedule(Math.min(1_000, leaseMs / 3));
    }
  }
}
