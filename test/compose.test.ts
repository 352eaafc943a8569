/** docker-compose.yml can't be started everywhere; that it is right in form and hangs together is checked here. */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parse } from 'yaml';
import { createProgram } from '../src/cli/program.ts';
import { readConfig } from '../src/config.ts';
import { SEARCH_ATTRIBUTES } from '../src/dev/search-attributes.ts';

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly deploy?: { readonly replicas?: number };
  readonly profiles?: readonly string[];
  readonly stop_grace_period?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly healthcheck?: object;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

const text = readFileSync('docker-compose.yml', 'utf8');
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);

/** True if the compose schema accepts it; the errors otherwise. */
function check(value: unknown): unknown {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  formats.default(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync('test/fixtures/compose-spec.json', 'utf8')) as object);
  return validate(value) ? true : validate.errors;
}

describe('docker-compose.yml', () => {
  test('fits the compose schema, which does refuse a wrong file', () => {
    expect(check(compose)).toBe(true);
    expect(check({ ...compose, services: { postgres: { image: 5, prots: [] } } })).not.toBe(true);
  });

  test.each(services)('%s has an image pinned to a release', (_, { image }) => {
    expect(image).toMatch(/^[a-z0-9./-]+:\d+\.\d+(\.\d+)?$/);
  });

  test('brings Postgres, Temporal of one version with its tools, and the web UI', () => {
    const images = services.map(([, { image }]) => image);
    const version = (name: string): string[] => images.filter((image) => image.startsWith(`${name}:`)).map((image) => image.split(':')[1] ?? '');
    expect(version('postgres').map((tag) => tag.split('.')[0])).toEqual(['18']);
    expect(new Set([...version('temporalio/server'), ...version('temporalio/admin-tools')]).size).toBe(1);
    expect(version('temporalio/ui')).toHaveLength(1);
  });

  test.each(services)('%s waits only for services that exist and can say that they are ready', (_, { depends_on = {} }) => {
    for (const [name, { condition }] of Object.entries(depends_on)) {
      const needed = compose.services[name];
      expect(needed).toBeDefined();
      if (condition === 'service_healthy') expect(needed?.healthcheck).toBeDefined();
      else expect([condition, needed?.command]).toEqual(['service_completed_successfully', expect.anything()]);
    }
  });

  test('uses every volume and config that it declares, and no other', () => {
    const volumes = services.flatMap(([, { volumes: used = [] }]) => used.map((volume) => volume.split(':')[0]));
    const configs = services.flatMap(([, { configs: used = [] }]) => used.map(({ source }) => source));
    expect(new Set(volumes)).toEqual(new Set(Object.keys(compose.volumes)));
    expect(new Set(configs)).toEqual(new Set(Object.keys(compose.configs)));
  });

  test('opens its ports to this machine only, at the addresses that its head names', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
    const published = ports.map((port) => port.split(':').slice(0, 2).join(':'));
    for (const address of ['127.0.0.1:5432', '127.0.0.1:7233', '127.0.0.1:8233', '127.0.0.1:7480']) {
      expect(published).toContain(address);
      expect(text.split('\nname:')[0]).toContain(address);
    }
  });

  test('registers the search attributes that the workers set', () => {
    const script = compose.configs['temporal-namespace']?.content;
    for (const name of SEARCH_ATTRIBUTES) expect(script).toContain(name);
  });

  const own = services.filter(([, { build }]) => build !== undefined);

  test('builds one image, of the version of this package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(new Set(own.map(([, { image }]) => image))).toEqual(new Set([`throughline:${version}`]));
  });

  test('runs two workers after the schema, and gives them time to stop', () => {
    const worker = compose.services['worker'];
    expect(worker).toMatchObject({ deploy: { replicas: 2 }, depends_on: { migrate: { condition: 'service_completed_successfully' } } });
    const grace = Number(/"--grace","(\d+)s"/.exec(JSON.stringify(worker?.command))?.[1]);
    expect(Number.parseInt(worker?.stop_grace_period ?? '0', 10)).toBeGreaterThan(grace + 10);
  });

  test('serves the API after the schema, where its port and its health check look for it', () => {
    const service = compose.services['api'];
    expect(service?.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    const port = service?.command?.[(service.command.indexOf('--port')) + 1];
    expect(service?.ports).toEqual([`127.0.0.1:${String(port)}:${String(port)}`]);
    expect(service?.environment?.['HEALTH_URL']).toBe(`http://127.0.0.1:${String(port)}/readyz`);
    expect(service?.command).toEqual(expect.arrayContaining(['--host', '0.0.0.0']));
    expect(service?.healthcheck).toEqual(compose.services['worker']?.healthcheck);
  });

  test.each(own)('%s is a command line and an environment that this program reads', (_, { command = [], environment = {} }) => {
    const [name, ...args] = command;
    const known = createProgram().commands.find((one) => one.name() === name);
    const options = known?.options.map(({ long }) => long) ?? [];
    expect(known).toBeDefined();
    for (const arg of args.filter((one) => one.startsWith('--'))) expect(options).toContain(arg);
    // As compose fills them in where nothing is set.
    const filled = Object.fromEntries(Object.entries(environment).map(([variable, value]) => [variable, value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')]));
    expect(readConfig(filled, { temporalProfile: false })).toMatchObject({ temporalAddress: 'temporal:7233', databaseUrl: expect.stringContaining('@postgres:5432/') });
  });

  const scripts = services.flatMap(([, { configs = [] }]) => configs.filter(({ target }) => target.endsWith('.sh')).map(({ source }) => source));
  test.each(scripts)('%s is a script that a shell can read', (name) => {
    const content = compose.configs[name]?.content ?? '';
    expect(content).not.toBe('');
    // In a compose file a dollar of the shell is written twice; a single one would be replaced by compose.
    expect(content.replaceAll('$$', '')).not.toContain('$');
    const { status, stderr } = spawnSync('sh', ['-n'], { input: content.replaceAll('$$', '$'), encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
