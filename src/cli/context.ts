/** What a command works with: configuration, language, the client, and one way to answer. */
import { userInfo } from 'node:os';
import type { ThroughlineClient } from '../client/client.ts';
import { readConfig, requireDatabaseUrl } from '../config.ts';
import type { Config, Language } from '../config.ts';
import { safeJson } from './neutral.ts';
import { terminalOf, write } from './terminal.ts';
import type { Terminal } from './terminal.ts';
import { WORDS } from './words.ts';
import type { Words } from './words.ts';

/** Options that each command has. */
export interface CommonOptions {
  readonly json?: true;
  readonly lang?: Language;
}

export interface Context {
  readonly config: Config;
  readonly lang: Language;
  readonly words: Words;
  readonly json: boolean;
  readonly terminal: Terminal;
  /** The operating system's user, for whoever gives no `--by`. */
  readonly user: string;
  /** The client, opened once. Temporal is asked by `explain` alone, and only if TEMPORAL_ADDRESS is set. */
  client(options?: { readonly temporal: boolean }): Promise<ThroughlineClient>;
  /** The command's one answer: the document with `--json`, else the text's lines. */
  answer(document: unknown, text: () => readonly string[] | Promise<readonly string[]>): Promise<void>;
  /** A line for the person who waits, on stderr. */
  readonly note: (line: string) => void;
  close(): Promise<void>;
}

/** Reads the environment. Throws CONFIG_INVALID. */
export function openContext(options: CommonOptions): Context {
  const config = readConfig();
  const lang = options.lang ?? config.lang;
  const json = options.json === true;
  const terminal = terminalOf(process.stdout, process.env);
  let opened: Promise<ThroughlineClient> | undefined;
  return {
    config,
    lang,
    words: WORDS[lang],
    json,
    terminal,
    user: systemUser(),
    client: (wants) => (opened ??= openClient(config, wants?.temporal === true)),
    async answer(document, text) {
      const lines = json ? [safeJson(document, terminal.interactive ? 2 : 0)] : await text();
      await write(process.stdout, lines.map((line) => `${line}\n`).join(''));
    },
    note: (line) => {
      process.stderr.write(`${line}\n`);
    },
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}

/** Loaded here: a command that needs no client (`--help`, `dev`) need not wait for it. */
async function openClient(config: Config, wantsTemporal: boolean): Promise<ThroughlineClient> {
  const databaseUrl = requireDatabaseUrl(config);
  const { createClient } = await import('../client/client.ts');
  const { temporalAddress: address, temporalNamespace: namespace, temporalConnection: connection } = config;
  return createClient({ databaseUrl, connectionsMax: 2, ...(wantsTemporal && address !== undefined ? { temporal: { address, namespace, connection } } : {}) });
}

/** A container may run under a number that has no name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${String(process.getuid?.() ?? 'unknown')}`;
  }
}
