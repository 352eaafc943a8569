/**
 * The environment, read and validated once. Everything else gets a `Config`; nothing else reads
 * `process.env` for settings. An empty variable counts as unset.
 */
import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { ThroughlineError } from './errors.ts';

export const LANGUAGES = ['en', 'zh-CN'] as const;
export type Language = (typeof LANGUAGES)[number];

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How Temporal is reached beyond its address: TLS, API key, headers. Holds secrets. */
export type TemporalConnection = Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey' | 'metadata'>;

/** What the surroundings say. Holds secrets (the database URL, Temporal's keys): print it with `describeConfig`. */
export interface Config {
  /** `THROUGHLINE_DATABASE_URL`, else `DATABASE_URL`: a postgres:// URL. Undefined where neither is set. */
  readonly databaseUrl: string | undefined;
  /** `TEMPORAL_ADDRESS`, else the profile's: host:port of the frontend. Undefined: the SDK's default or a local stack. */
  readonly temporalAddress: string | undefined;
  /** `TEMPORAL_NAMESPACE`, else the profile's. */
  readonly temporalNamespace: string;
  /** Temporal's own variables (`TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, `TEMPORAL_GRPC_META_*`) over the profile `TEMPORAL_PROFILE` of `TEMPORAL_CONFIG_FILE`. */
  readonly temporalConnection: TemporalConnection;
  /** `THROUGHLINE_TASK_QUEUE`: the Temporal task queue that workers poll and drivers run on. */
  readonly taskQueue: string;
  /** `THROUGHLINE_ARTIFACTS`, else the folder `THROUGHLINE_ARTIFACT_DIR`: an absolute folder, file:///folder or s3://bucket/prefix. */
  readonly artifacts: string;
  /** `THROUGHLINE_WEBHOOK_ALLOW`: addresses and ranges, set apart by commas, that webhooks may call although they are not public. */
  readonly webhookAllow: readonly string[];
  /** `THROUGHLINE_CONSOLE_KEY`: seals the console's sessions; the same for all processes that serve one console. Undefined: each process its own, and its sessions end with it. A secret. */
  readonly consoleKey: string | undefined;
  /** `THROUGHLINE_TEMPORAL_UI`: the address of Temporal's web UI, for the console's links. Undefined: no links. */
  readonly temporalUi: string | undefined;
  /** `THROUGHLINE_LOG_LEVEL`. */
  readonly logLevel: LogLevel;
  /** `THROUGHLINE_LANG`: the language of sentences; codes are the same in each. */
  readonly lang: Language;
}

/** The variables as such; the messages are what a person reads, so they never quote a value. */
const Environment = z.object({
  THROUGHLINE_DATABASE_URL: z.string().refine(isPostgresUrl, 'must be a postgres:// URL').optional(),
  DATABASE_URL: z.string().refine(isPostgresUrl, 'must be a postgres:// URL').optional(),
  TEMPORAL_ADDRESS: z.string().refine(isHostAndPort, 'must be host:port, without a scheme').optional(),
  TEMPORAL_NAMESPACE: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'must be a namespace name of at most 255 characters')
    .optional(),
  TEMPORAL_CONFIG_FILE: z.string().refine(existsSync, 'must be a file that exists').optional(),
  THROUGHLINE_TASK_QUEUE: z
    .string()
    .regex(/^[^\s\p{Cc}]{1,200}$/u, 'must be 1 to 200 characters without blanks')
    .default('throughline'),
  THROUGHLINE_ARTIFACTS: z.string().max(4096).regex(/^(file:\/\/\/|s3:\/\/)/, 'must be file:///folder or s3://bucket/prefix').optional(),
  THROUGHLINE_ARTIFACT_DIR: z.string().max(4096, 'must be a path of at most 4096 characters').default('.throughline/artifacts'),
  THROUGHLINE_WEBHOOK_ALLOW: z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim()).filter((one) => one !== ''))
    .refine((ranges) => ranges.every(isAddressRange), 'must be addresses or ranges such as 10.0.0.0/8, set apart by commas')
    .default([]),
  THROUGHLINE_CONSOLE_KEY: z.string().min(32, 'must be at least 32 characters').max(1024, 'must be at most 1024 characters').optional(),
  THROUGHLINE_TEMPORAL_UI: z.string().refine(isWebUrl, 'must be an http:// or https:// URL').optional(),
  THROUGHLINE_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  THROUGHLINE_LANG: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).default('en'),
});

/**
 * Reads and validates the environment, and the Temporal profile that it names (`temporalProfile: false`: variables
 * alone, for a stack of one's own, which must not meet a cluster that a profile is for).
 * @throws CONFIG_INVALID with the variable's name as `path` (all of them in `paths`); values are never shown.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, options: { readonly temporalProfile?: boolean } = {}): Config {
  const given = Object.fromEntries(
    Object.keys(Environment.shape).flatMap((name) => {
      const value = env[name]?.trim();
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = Environment.safeParse(given);
  if (!parsed.success) throw invalid(parsed.error.issues);
  const read = parsed.data;
  return {
    databaseUrl: read.THROUGHLINE_DATABASE_URL ?? read.DATABASE_URL,
    ...temporalOf(env, options.temporalProfile ?? true),
    taskQueue: read.THROUGHLINE_TASK_QUEUE,
    artifacts: read.THROUGHLINE_ARTIFACTS ?? resolve(read.THROUGHLINE_ARTIFACT_DIR),
    webhookAllow: read.THROUGHLINE_WEBHOOK_ALLOW,
    consoleKey: read.THROUGHLINE_CONSOLE_KEY,
    temporalUi: read.THROUGHLINE_TEMPORAL_UI,
    logLevel: read.THROUGHLINE_LOG_LEVEL,
    lang: read.THROUGHLINE_LANG,
  };
}

/** By Temporal's own rules: variables over the profile of its configuration file. */
function temporalOf(env: NodeJS.ProcessEnv, profile: boolean): Pick<Config, 'temporalAddress' | 'temporalNamespace' | 'temporalConnection'> {
  const given = Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined || value.trim() === '' ? [] : [[name, value.trim()]])));
  let loaded: ClientConnectConfig;
  try {
    loaded = loadClientConnectConfig({ overrideEnvVars: given, disableFile: !profile });
  } catch (cause) {
    // Its message may quote what a file of secrets holds.
    throw new ThroughlineError('CONFIG_INVALID', { path: 'TEMPORAL_PROFILE', message: "Temporal's own configuration (TEMPORAL_* variables, the profile and its file, the files of keys that it names) cannot be read", cause });
  }
  const { connectionOptions: { address, tls, apiKey, metadata }, namespace = 'default' } = loaded;
  const checked = Environment.pick({ TEMPORAL_ADDRESS: true, TEMPORAL_NAMESPACE: true }).safeParse({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
  if (!checked.success) throw invalid(checked.error.issues);
  return {
    temporalAddress: address,
    temporalNamespace: namespace,
    temporalConnection: { ...(tls === undefined ? {} : { tls }), ...(apiKey === undefined ? {} : { apiKey }), ...(metadata === undefined ? {} : { metadata }) },
  };
}

/**
 * The database URL, for programs that can't work without one.
 * @throws CONFIG_INVALID naming `DATABASE_URL` if neither variable is set.
 */
export function requireDatabaseUrl(config: Config): string {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  throw new ThroughlineError('CONFIG_INVALID', {
    message: 'DATABASE_URL (or THROUGHLINE_DATABASE_URL) is not set: it names the Postgres of the ledger',
    path: 'DATABASE_URL',
  });
}

/** The configuration as data that may be printed or logged: without user, password and keys. */
export function describeConfig({ temporalConnection: { tls, apiKey, metadata }, webhookAllow, consoleKey, ...config }: Config): Record<string, string | undefined> {
  const secured = [...(tls === undefined || tls === false || tls === null ? [] : ['tls']), ...(apiKey === undefined ? [] : ['api key']), ...(metadata === undefined ? [] : ['headers'])];
  return { ...config, webhookAllow: webhookAllow.join(', '), consoleKey: consoleKey === undefined ? undefined : 'set',  temporalConnection: secured.length === 0 ? 'plain' : secured.join(', '), databaseUrl: config.databaseUrl === undefined ? undefined : redactUrl(config.databaseUrl) };
}

/** A URL with host, port and path only; query parameters may hold secrets as well (`?password=`). */
export function redactUrl(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function invalid(issues: readonly z.core.$ZodIssue[]): ThroughlineError {
  const lines = issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  const paths = issues.map((issue) => issue.path.join('.'));
  const path = paths[0];
  return new ThroughlineError('CONFIG_INVALID', {
    message: `The environment cannot be used: ${lines.join('; ')}`,
    ...(path === undefined ? {} : { path }),
    paths,
  });
}

function isPostgresUrl(value: string): boolean {
  return URL.canParse(value) && ['postgres:', 'postgresql:'].includes(new URL(value).protocol);
}

function isWebUrl(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol);
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. */
function isAddressRange(value: string): boolean {
  const [address = '', bits, ...more] = value.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function isHostAndPort(value: string): boolean {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/@]+)(?::(\d{1,5}))?$/.exec(value);
  if (match === null) return false;
  const port = match[2] === undefined ? 7233 : Number(match[2]);
  return port > 0 && port < 65_536;
}
