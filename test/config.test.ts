import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describeConfig, readConfig, redactUrl, requireDatabaseUrl } from '../src/config.ts';
import { ThroughlineError } from '../src/errors.ts';

/** The error of reading these variables. */
function errorOf(env: NodeJS.ProcessEnv): ThroughlineError {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ThroughlineError) return error;
  }
  throw new Error('was accepted');
}

describe('the configuration', () => {
  test('has defaults for all but the addresses; empty counts as unset', () => {
    expect(readConfig({ TEMPORAL_ADDRESS: '', DATABASE_URL: '  ' })).toEqual({
      databaseUrl: undefined,
      temporalAddress: undefined,
      temporalNamespace: 'default',
      temporalConnection: {},
      taskQueue: 'throughline',
      artifacts: resolve('.throughline/artifacts'),
      webhookAllow: [],
      logLevel: 'info',
      lang: 'en',
    });
  });

  test("prefers Throughline's own database variable to the common one", () => {
    const env = { DATABASE_URL: 'postgres://a/one', THROUGHLINE_DATABASE_URL: 'postgresql://b/two' };
    expect(readConfig(env).databaseUrl).toBe('postgresql://b/two');
    expect(readConfig({ DATABASE_URL: env.DATABASE_URL }).databaseUrl).toBe('postgres://a/one');
  });

  test.each([
    ['TEMPORAL_ADDRESS', 'localhost:7233'],
    ['TEMPORAL_ADDRESS', '[::1]:7233'],
    ['TEMPORAL_ADDRESS', 'my-namespace.a1b2c.tmprl.cloud:7233'],
    ['THROUGHLINE_LANG', 'zh-CN'],
    ['THROUGHLINE_LOG_LEVEL', 'silent'],
  ])('accepts %s=%s', (name, value) => {
    expect(() => readConfig({ [name]: value })).not.toThrow();
  });

  test.each([
    ['DATABASE_URL', 'mysql://user:hunter2@host/db'],
    ['THROUGHLINE_DATABASE_URL', 'hunter2'],
    ['TEMPORAL_ADDRESS', 'http://hunter2:7233'],
    ['TEMPORAL_ADDRESS', 'hunter2:99999'],
    ['TEMPORAL_NAMESPACE', 'hunter2 and more'],
    ['THROUGHLINE_TASK_QUEUE', 'hunter2 queue'],
    ['THROUGHLINE_LOG_LEVEL', 'hunter2'],
    ['THROUGHLINE_LANG', 'hunter2'],
  ])('refuses a bad %s by code, names it, and never shows the value', (name, value) => {
    const error = errorOf({ [name]: value });
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.detail.path).toBe(name);
    expect(error.message).toContain(name);
    expect(JSON.stringify(error) + error.message).not.toContain('hunter2');
  });

  test('names every bad variable at once', () => {
    expect(errorOf({ THROUGHLINE_LANG: 'x', TEMPORAL_NAMESPACE: '?' }).detail.paths).toEqual(['TEMPORAL_NAMESPACE', 'THROUGHLINE_LANG']);
  });

  test('is printed without user and password', () => {
    const config = readConfig({ DATABASE_URL: 'postgres://user:hunter2@host:5432/db?password=hunter2' });
    expect(describeConfig(config)['databaseUrl']).toBe('postgres://host:5432/db');
    expect(redactUrl('not a url hunter2')).not.toContain('hunter2');
  });

  test('without a database says which variable to set', () => {
    expect(() => requireDatabaseUrl(readConfig({}))).toThrow(/DATABASE_URL/);
    expect(requireDatabaseUrl(readConfig({ DATABASE_URL: 'postgres://h/d' }))).toBe('postgres://h/d');
  });
});

describe("Temporal's own configuration", () => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-config-'));
  const file = join(folder, 'temporal.toml');
  writeFileSync(file, `
[profile.default]
address = "localhost:7233"

[profile.cloud]
address = "notes.a1b2c.tmprl.cloud:7233"
namespace = "notes.a1b2c"
api_key = "hunter2-from-file"
[profile.cloud.tls]
server_name = "notes.example"
[profile.cloud.grpc_meta]
x-team = "notes"

[profile.wrong]
address = "http://hunter2:1"

[profile.keyless]
address = "localhost:7233"
[profile.keyless.tls]
client_cert_path = "${join(folder, 'hunter2.pem')}"
client_key_path = "${join(folder, 'hunter2.key')}"
`);
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const env = { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'cloud' };

  test('comes from the profile that is named: address, namespace, key, TLS, headers', () => {
    expect(readConfig(env)).toMatchObject({
      temporalAddress: 'notes.a1b2c.tmprl.cloud:7233',
      temporalNamespace: 'notes.a1b2c',
      temporalConnection: { apiKey: 'hunter2-from-file', tls: { serverNameOverride: 'notes.example' }, metadata: { 'x-team': 'notes' } },
    });
    expect(readConfig({ TEMPORAL_CONFIG_FILE: file })).toMatchObject({ temporalAddress: 'localhost:7233', temporalNamespace: 'default', temporalConnection: {} });
  });

  test('is overridden by variables, one by one', () => {
    expect(readConfig({ ...env, TEMPORAL_NAMESPACE: 'other', TEMPORAL_API_KEY: 'hunter2-from-env' })).toMatchObject({
      temporalAddress: 'notes.a1b2c.tmprl.cloud:7233', temporalNamespace: 'other', temporalConnection: { apiKey: 'hunter2-from-env' },
    });
  });

  test('is left out where a stack of our own is meant', () => {
    expect(readConfig(env, { temporalProfile: false })).toMatchObject({ temporalAddress: undefined, temporalNamespace: 'default', temporalConnection: {} });
  });

  test.each([
    ['a file that is not there', { TEMPORAL_CONFIG_FILE: '/nowhere/hunter2.toml' }, 'TEMPORAL_CONFIG_FILE'],
    ['a profile that the file lacks', { ...env, TEMPORAL_PROFILE: 'hunter2' }, 'TEMPORAL_PROFILE'],
    ['an address with a scheme', { ...env, TEMPORAL_PROFILE: 'wrong' }, 'TEMPORAL_ADDRESS'],
  ])('is refused by code and without its values: %s', (_, given, path) => {
    const error = errorOf(given);
    expect([error.code, error.detail.path]).toEqual(['CONFIG_INVALID', path]);
    expect(JSON.stringify(error) + error.message).not.toContain('hunter2');
  });

  test('is printed by what secures it, never by its keys', () => {
    const printed = describeConfig(readConfig(env));
    expect(printed['temporalConnection']).toBe('tls, api key, headers');
    expect(JSON.stringify(printed)).not.toContain('hunter2');
  });
});
