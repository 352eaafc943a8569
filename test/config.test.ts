import { describe, expect, test } from '@jest/globals';
import { resolve } from 'node:path';
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
      taskQueue: 'throughline',
      artifactDir: resolve('.throughline/artifacts'),
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
