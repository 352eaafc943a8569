/** What the publishing platform says over HTTP: shapes, limits and names shared by its server and its client. */
import { z } from 'zod';

/** Bounds on everything the platform takes in; the unit is the last word of each name. */
export const PLATFORM_LIMITS = {
  picture_bytes_max: 8 * 1024 * 1024,
  post_bytes_max: 1024 * 1024,
  pictures_per_post_max: 50,
  reference_chars_max: 300,
  title_chars_max: 300,
  url_chars_max: 2_000,
  delay_ms_max: 24 * 60 * 60 * 1000,
  faults_max: 200,
  log_page_entries_max: 5_000,
  receipt_tries_max: 1_000,
} as const;

/** The routes by name: what a fault is aimed at and what the access log shows. */
export const ROUTES = [
  'upload_picture',
  'find_pictures',
  'read_picture',
  'publish_post',
  'find_posts',
  'read_post',
  'withdraw_post',
] as const;
export type RouteName = (typeof ROUTES)[number];

/** Reference headers; each value travels percent-encoded, since headers carry only Latin-1. */
export const HEADERS = {
  key: 'idempotency-key',
  messageId: 'x-message-id',
  threadId: 'x-thread-id',
  taskId: 'x-task-id',
  step: 'x-step',
  item: 'x-item',
  digest: 'x-content-sha256',
  signature: 'x-signature',
} as const;

/** Text without control characters, 1 to 300 characters: an id, a key, a name. */
export const referenceText = z
  .string()
  .min(1)
  .max(PLATFORM_LIMITS.reference_chars_max)
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
  .regex(/^[^\u0000-\u001f\u007f]*$/u, 'must not contain control characters');

/** Who asks and on whose behalf: stored with what the request makes, so that it can be found again. */
export const referenceSchema = z.object({
  key: referenceText.nullable(),
  messageId: referenceText.nullable(),
  threadId: referenceText.nullable(),
  taskId: referenceText.nullable(),
  step: referenceText.nullable(),
  item: referenceText.nullable(),
});
export type Reference = z.infer<typeof referenceSchema>;

export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** A stored picture. `path` is where its bytes are read, relative to the platform's address. */
export interface Picture {
  readonly id: string;
  readonly path: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly reference: Reference;
  /** ISO instants. Before `visibleAt` the picture is neither found nor read. */
  readonly acceptedAt: string;
  readonly visibleAt: string;
}

/** The body of a post as it is sent. `pictures` are ids of uploaded pictures. */
export const newPostSchema = z.strictObject({
  title: z.string().min(1).max(PLATFORM_LIMITS.title_chars_max),
  author: z.string().min(1).max(PLATFORM_LIMITS.title_chars_max),
  language: z.string().min(2).max(35),
  html: z.string().min(1),
  pictures: z.array(referenceText).max(PLATFORM_LIMITS.pictures_per_post_max),
  /** Where receipts go; without it none are sent. */
  callbackUrl: z.url({ protocol: /^https?$/u }).max(PLATFORM_LIMITS.url_chars_max).optional(),
});
export type NewPost = z.infer<typeof newPostSchema>;

/** `accepted`: taken, not out yet · `published` · `failed`: will never come out · `withdrawn`: taken back. */
export type PostStatus = 'accepted' | 'published' | 'failed' | 'withdrawn';

/** A post as the platform keeps it. `sha256` is over the UTF-8 bytes of `html`. */
export interface Post extends Omit<NewPost, 'callbackUrl'> {
  readonly id: string;
  readonly path: string;
  readonly sha256: string;
  readonly reference: Reference;
  readonly callbackUrl: string | null;
  readonly acceptedAt: string;
  readonly visibleAt: string;
  /** When it comes out; null when it was accepted only to fail (see `failAt`). */
  readonly publishAt: string | null;
  readonly failAt: string | null;
  /** From then on a withdrawal is refused; null: never. */
  readonly finalAt: string | null;
  readonly withdrawnAt: string | null;
}

/** A post as it is read back. */
export interface PostView extends Omit<Post, 'callbackUrl' | 'pictures'> {
  readonly status: PostStatus;
  readonly pictures: readonly Picture[];
}

export const RECEIPT_KINDS = ['delivered', 'received', 'progress', 'completed', 'failed', 'text'] as const;
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];

/** A receipt as it is posted to the callback URL. */
export const receiptSchema = z.strictObject({
  deliveryId: referenceText,
  taskId: referenceText.nullable(),
  step: referenceText.nullable(),
  threadId: referenceText.nullable(),
  /** The message id of the request that this answers. */
  inReplyTo: referenceText.nullable(),
  kind: z.enum(RECEIPT_KINDS),
  /** The post's id on the platform. */
  externalId: referenceText.nullable(),
  /** Machine-readable cause, for `failed`. */
  code: referenceText.nullable(),
  /** What the receipt says was made. */
  artifact: z
    .strictObject({ uri: z.string().min(1).max(PLATFORM_LIMITS.url_chars_max), sha256: z.string().length(64) })
    .nullable(),
  /** A sentence for people; proves nothing. */
  text: z.string().max(2_000).nullable(),
  /** When the platform wrote it, ISO. */
  at: z.iso.datetime(),
});
export type Receipt = z.infer<typeof receiptSchema>;

/** A receipt on its way: sent to `url` from `dueAt` on, again and again until it is answered with 2xx. */
export interface PlannedReceipt {
  readonly postId: string;
  readonly url: string;
  readonly dueAt: string;
  readonly receipt: Receipt;
}

/**
 * What a request did. `acted`: changed the platform · `deduped`: the first answer again · `refused`: answered with
 * an error, nothing changed · `ignored`: never answered, nothing changed · `read` · `pending`: not decided yet.
 */
export type Did = 'pending' | 'acted' | 'deduped' | 'refused' | 'ignored' | 'read';

/** One request that arrived. `answered: false` means that the caller was left without an answer on purpose. */
export interface AccessEntry extends Reference {
  readonly n: number;
  readonly route: RouteName;
  readonly arrivedAt: string;
  did: Did;
  decidedAt: string | null;
  status: number | null;
  code: string | null;
  externalId: string | null;
  answered: boolean;
  faults: readonly string[];
}

/** How the platform behaves; changed at start by flags or later through `PUT /admin/settings`. Not durable. */
export const settingsSchema = z.strictObject({
  /** How long a key answers with the first answer; null: keys are ignored (a keyless platform). */
  idempotencyWindowMs: z.int().min(1).max(30 * PLATFORM_LIMITS.delay_ms_max).nullable(),
  /** How long after accepting a post or picture can be found and read. */
  visibleAfterMs: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max),
  receivedAfterMs: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max),
  progressAfterMs: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max),
  /** When the post comes out and `completed` is due. */
  completedAfterMs: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max),
  /** How long after it came out a post can still be withdrawn; null: always. */
  finalAfterMs: z.int().min(0).max(PLATFORM_LIMITS.delay_ms_max).nullable(),
  /** First wait before a receipt is sent again; doubles up to 10 s. */
  receiptRetryMs: z.int().min(1).max(60_000),
});
export type Settings = z.infer<typeof settingsSchema>;

export const DEFAULT_SETTINGS: Settings = {
  idempotencyWindowMs: 24 * 60 * 60 * 1000,
  visibleAfterMs: 0,
  receivedAfterMs: 50,
  progressAfterMs: 100,
  completedAfterMs: 200,
  finalAfterMs: null,
  receiptRetryMs: 200,
};

/** What the platform did for one task, by its own count. */
export interface TaskCounts {
  requests: number;
  acted: number;
  deduped: number;
  refused: number;
  ignored: number;
  reads: number;
  pictures: number;
  posts: number;
  published: number;
  withdrawn: number;
}
