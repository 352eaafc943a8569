import { join, resolve } from 'node:path';
import { readConfig, redactUrl } from '../../config.ts';
import type { Stack } from '../../dev/stack.ts';
import { nextStopSignal } from '../../dev/stop-signal.ts';
import { makeCommand, option, wholeNumber } from '../command.ts';
import type { Context } from '../context.ts';
import { startApi } from '../dev-api.ts';
import type { DevApi } from '../dev-api.ts';
import { API_PORT_DEFAULT } from './api.ts';

interface Options {
  readonly dataDir?: string;
  readonly postgresPort?: string;
  readonly temporalPort?: string;
  readonly uiPort?: string;
  readonly apiPort?: string;
  readonly own?: true;
}

export const devCommand = () =>
  makeCommand<Options>({
    name: 'dev',
    summary: 'a local Postgres, Temporal, API and console, migrated, until Ctrl-C',
    description:
      "Starts a real Postgres and Temporal's dev server with its web UI, without Docker, brings the schema up to date, serves the HTTP API and the console, prints the addresses, the environment to use and a token of the role admin, and stops all cleanly on Ctrl-C. Data stay in the folder; the next start takes the same ports if they are free, and ends what a killed one left over. Servers that DATABASE_URL or TEMPORAL_ADDRESS name are used instead of own ones, unless --own is given; in a Postgres that is not its own it makes no token. --json answers one document when all is up.",
    options: [
      option('--data-dir <folder>', 'where the data live; one stack at a time in each (default: .throughline)'),
      option('--own', 'start both servers, whatever DATABASE_URL and TEMPORAL_ADDRESS say'),
      option('--postgres-port <port>', "Postgres's port (default: the last one, else a free one)"),
      option('--temporal-port <port>', "Temporal's port"),
      option('--ui-port <port>', "port of Temporal's web UI"),
      option('--api-port <port>', `port of the HTTP API (default: ${String(API_PORT_DEFAULT)} if it is free, else a free one)`),
    ],
    examples: [
      ['dev', 'then, in another terminal, the two export lines and `throughline worker --tasks ...`'],
      ['dev --data-dir /tmp/stack --ui-port 8233', 'its own folder, the UI where bookmarks expect it'],
    ],
    exits: '0 after a stop that was asked; 2 no Temporal found (says the ways to get one); 4 another stack lives in the folder; 5 a server did not start',
    async run(context, options) {
      const stop = nextStopSignal();
      const starting = start(context, options);
      const early = await Promise.race([stop, starting.then(() => undefined)]);
      if (early !== undefined) context.note('stopping as soon as the servers have started');
      const stack = await starting;
      let api: DevApi | undefined;
      try {
        if (early === undefined) {
          const { Database, migrate } = await import('../../index.ts');
          const database = new Database({ url: stack.databaseUrl, connectionsMax: 1, applicationName: 'throughline-migrate' });
          try {
            await migrate(database, context.note);
          } finally {
            await database.end();
          }
          api = await startApi(stack, isOurs(stack), options.apiPort === undefined ? undefined : wholeNumber(options.apiPort, '--api-port'));
          const { url, token } = api;
          await context.answer(documentOf(stack, { url, token }), () => lines(stack, { url, token }, context));
          await stop;
        }
      } finally {
        await api?.close();
        await stack.stop();
      }
    },
  });

async function start({ note }: Context, options: Options): Promise<Stack> {
  const own = options.own === true;
  const config = readConfig(process.env, { temporalProfile: false });
  const { TEMPORAL_ADDRESS: _, ...withoutAddress } = process.env;
  const databaseUrl = own ? undefined : config.databaseUrl;
  if (databaseUrl !== undefined) note(`DATABASE_URL is set: ${redactUrl(databaseUrl)} is used, no Postgres is started (--own starts one)`);
  if (!own && config.temporalAddress !== undefined) note(`TEMPORAL_ADDRESS is set: ${config.temporalAddress} is used, no Temporal is started (--own starts one)`);
  const { startStack } = await import('../../dev/stack.ts');
  return await startStack({
    dataDir: resolve(options.dataDir ?? '.throughline'),
    cacheDir: resolve(join('.throughline', 'temporal')),
    databaseUrl,
    env: own ? withoutAddress : process.env,
    ports: {
      ...(options.postgresPort === undefined ? {} : { postgres: wholeNumber(options.postgresPort, '--postgres-port') }),
      ...(options.temporalPort === undefined ? {} : { temporal: wholeNumber(options.temporalPort, '--temporal-port') }),
      ...(options.uiPort === undefined ? {} : { temporalUi: wholeNumber(options.uiPort, '--ui-port') }),
    },
    log: note,
  });
}

interface ApiAddress {
  readonly url: string;
  /** null: Postgres is somebody else's, and who may enter there is theirs to say. */
  readonly token: string | null;
}

const environmentOf = ({ databaseUrl, temporalAddress, temporalNamespace }: Stack, { url, token }: ApiAddress): Record<string, string> => ({
  DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: temporalNamespace, THROUGHLINE_API_URL: url, ...(token === null ? {} : { THROUGHLINE_API_TOKEN: token }),
});

/** A Postgres of somebody else's is named without its password. */
const isOurs = (stack: Stack): boolean => stack.postgresDir !== undefined;

function documentOf(stack: Stack, api: ApiAddress): Record<string, unknown> {
  const { temporalAddress, temporalNamespace, temporalUiUrl, dataDir } = stack;
  const databaseUrl = isOurs(stack) ? stack.databaseUrl : redactUrl(stack.databaseUrl);
  return {
    database_url: databaseUrl, temporal_address: temporalAddress, temporal_namespace: temporalNamespace, temporal_ui_url: temporalUiUrl ?? null,
    api_url: api.url, console_url: `${api.url}/console`, api_token: api.token, data_dir: dataDir, env: { ...environmentOf(stack, api), DATABASE_URL: databaseUrl },
  };
}

function lines(stack: Stack, api: ApiAddress, { terminal: { colours } }: Context): readonly string[] {
  const env = environmentOf(stack, api);
  const shown = isOurs(stack) ? env : Object.fromEntries(Object.entries(env).filter(([name]) => name !== 'DATABASE_URL'));
  return [
    `${colours.bold('Postgres')}      ${redactUrl(stack.databaseUrl)}`,
    `${colours.bold('Temporal')}      ${stack.temporalAddress} (namespace ${stack.temporalNamespace})`,
    ...(stack.temporalUiUrl === undefined ? [] : [`${colours.bold('Temporal UI')}   ${stack.temporalUiUrl}`]),
    `${colours.bold('API')}           ${api.url} (described at ${api.url}/docs)`,
    `${colours.bold('Console')}       ${api.url}/console${api.token === null ? '' : ` (sign in with ${api.token})`}`,
    ...(api.token === null ? ['              no token was made: throughline tokens create NAME --role ROLE'] : []),
    `${colours.bold('Data')}          ${stack.dataDir}`,
    '',
    'In another terminal:',
    ...Object.entries(shown).map(([name, value]) => `  export ${name}='${value}'`),
    '  throughline worker --tasks ./tasks.js',
    ...(api.token === null ? [] : ['  curl -H "authorization: Bearer $THROUGHLINE_API_TOKEN" "$THROUGHLINE_API_URL/v1/tasks"']),
    '',
    'Ctrl-C stops all.',
  ];
}
