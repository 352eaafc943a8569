/** What the platform knows: pictures, posts, receipts on their way and first answers, rebuilt from its journal. */
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Journal, syncFolder } from './journal.ts';
import type { AccessEntry, Picture, PlannedReceipt, Post, PostStatus, PostView } from './types.ts';

/** One change of the platform; everything it knows is the sum of these. */
export type Change =
  | { readonly type: 'picture'; readonly picture: Picture }
  | { readonly type: 'post'; readonly post: Post; readonly receipts: readonly PlannedReceipt[] }
  | { readonly type: 'withdrawn'; readonly postId: string; readonly at: string }
  | { readonly type: 'delivered'; readonly deliveryId: string; readonly copies: number; readonly at: string }
  | { readonly type: 'given_up'; readonly deliveryId: string; readonly at: string };

/** The first answer to a key, given again until `expiresAt`; `digest` tells whether the request is the same. */
export interface FirstAnswer {
  readonly scope: string;
  readonly digest: string;
  readonly status: number;
  readonly body: unknown;
  readonly externalId: string;
  readonly expiresAt: string;
}

/** Change, first answer and access entry of one request are one line, so that a crash keeps all of them or none. */
interface JournalLine {
  readonly change: Change;
  readonly answer?: FirstAnswer;
  readonly access?: AccessEntry;
}

/** A planned receipt and what became of it; `copies` deliveries are still owed. */
export interface ReceiptState extends PlannedReceipt {
  copies: number;
  tries: number;
  deliveredAt: string | null;
  /** Why it will not be sent any more without having been delivered. */
  dropped: 'withdrawn' | 'given_up' | null;
  lastError: string | null;
}

export class PlatformStore {
  readonly pictures = new Map<string, Picture>();
  readonly posts = new Map<string, Post>();
  readonly receipts = new Map<string, ReceiptState>();
  /** Access entries found in the journal, to complete an access log that lost its last lines. */
  readonly journalledAccess: AccessEntry[] = [];
  readonly #answers = new Map<string, FirstAnswer>();
  readonly #journal: Journal<JournalLine>;
  readonly #pictureFolder: string;

  /** Opens the store in `folder`, creating it if need be, and replays its journal. */
  constructor(folder: string) {
    this.#pictureFolder = join(folder, 'pictures');
    mkdirSync(this.#pictureFolder, { recursive: true });
    this.#journal = new Journal<JournalLine>(join(folder, 'journal.jsonl'), {
      sync: true,
      replay: (line) => {
        this.#apply(line);
        if (line.access !== undefined) this.journalledAccess.push(line.access);
      },
    });
  }

  /** Makes one change durable, then visible. Throws when the disk refuses; nothing has changed then. */
  commit(line: JournalLine): void {
    this.#journal.append(line);
    this.#apply(line);
  }

  /** The first answer for a key, while its window lasts at `now`. */
  firstAnswer(scope: string, now: Date): FirstAnswer | undefined {
    const answer = this.#answers.get(scope);
    return answer !== undefined && Date.parse(answer.expiresAt) > now.getTime() ? answer : undefined;
  }

  /** Keeps picture bytes under their hash: durable before the change that names them. */
  savePictureBytes(bytes: Buffer, sha256: string): void {
    const file = join(this.#pictureFolder, sha256);
    if (existsSync(file)) return;
    const draft = `${file}.${randomBytes(4).toString('hex')}.draft`;
    const fd = openSync(draft, 'wx');
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
    syncFolder(this.#pictureFolder);
  }

  readPictureBytes(picture: Picture): Buffer {
    return readFileSync(join(this.#pictureFolder, picture.sha256));
  }

  /** A post as a reader sees it at `now`. */
  view(post: Post, now: Date): PostView {
    const { callbackUrl: _, pictures, ...rest } = post;
    return {
      ...rest,
      status: postStatus(post, now),
      pictures: pictures.map((id) => this.pictures.get(id)).filter((picture) => picture !== undefined),
    };
  }

  close(): void {
    this.#journal.close();
  }

  #apply({ change, answer }: JournalLine): void {
    if (answer !== undefined) this.#answers.set(answer.scope, answer);
    switch (change.type) {
      case 'picture':
        this.pictures.set(change.picture.id, change.picture);
        return;
      case 'post':
        this.posts.set(change.post.id, change.post);
        for (const planned of change.receipts) this.#plan(planned);
        return;
      case 'withdrawn': {
        const post = this.posts.get(change.postId);
        if (post !== undefined) this.posts.set(post.id, { ...post, withdrawnAt: change.at });
        for (const receipt of this.receipts.values()) {
          if (receipt.postId === change.postId && receipt.copies > 0) drop(receipt, 'withdrawn');
        }
        return;
      }
      case 'delivered': {
        const receipt = this.receipts.get(change.deliveryId);
        if (receipt !== undefined) {
          receipt.copies = change.copies;
          receipt.deliveredAt = change.at;
        }
        return;
      }
      case 'given_up': {
        const receipt = this.receipts.get(change.deliveryId);
        if (receipt !== undefined) drop(receipt, 'given_up');
      }
    }
  }

  /** The same delivery planned twice is one receipt with two copies. */
  #plan(planned: PlannedReceipt): void {
    const known = this.receipts.get(planned.receipt.deliveryId);
    if (known !== undefined) {
      known.copies += 1;
      return;
    }
    this.receipts.set(planned.receipt.deliveryId, {
      ...planned,
      copies: 1,
      tries: 0,
      deliveredAt: null,
      dropped: null,
      lastError: null,
    });
  }
}

/** Status follows from the clock and what was decided at acceptance, so nothing has to happen for a post to come out. */
export function postStatus(post: Post, now: Date): PostStatus {
  if (post.withdrawnAt !== null) return 'withdrawn';
  if (post.failAt !== null && Date.parse(post.failAt) <= now.getTime()) return 'failed';
  if (post.publishAt !== null && Date.parse(post.publishAt) <= now.getTime()) return 'published';
  return 'accepted';
}

export function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}

export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

function drop(receipt: ReceiptState, why: 'withdrawn' | 'given_up'): void {
  receipt.copies = 0;
  receipt.dropped = why;
}
