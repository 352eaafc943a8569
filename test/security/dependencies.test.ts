/** What the product consists of: it is listed, locked, and asked after. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { answersOf, judged, NOT_ASKED } from '../../scripts/audit-deps.ts';
import { sbom } from '../../scripts/sbom.ts';
import type { Sbom } from '../../scripts/sbom.ts';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string; readonly dev?: boolean; readonly hasInstallScript?: boolean }>>;
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly name: string; readonly version: string; readonly dependencies: Record<string, string>; readonly optionalDependencies: Record<string, string>; readonly allowScripts: Record<string, boolean> };
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
const shipped = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

describe('the bill of materials', () => {
  let made: Sbom;
  beforeAll(async () => {
    made = await sbom();
  });

  test('is CycloneDX by its own schema, which refuses what is none', () => {
    const schema = (name: string): object => JSON.parse(readFileSync(`node_modules/@cyclonedx/cyclonedx-library/res/schema/${name}.SNAPSHOT.schema.json`, 'utf8')) as object;
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    (createRequire(import.meta.url)('ajv-formats-draft2019') as (to: unknown) => void)(ajv);
    for (const part of ['spdx', 'jsf-0.82']) ajv.addSchema(schema(part), `http://cyclonedx.org/schema/${part}.SNAPSHOT.schema.json`);
    const isValid = ajv.compile(schema('bom-1.5'));
    expect([isValid(made), isValid.errors]).toEqual([true, null]);
    expect(isValid({ ...made, components: [{ name: 'x' }] })).toBe(false);
  });

  test('names the product, and each runtime dependency at the version that is locked', () => {
    expect(made.metadata.component).toMatchObject({ name: manifest.name, version: manifest.version });
    const listed = new Set(made.components.map(({ purl }) => decodeURIComponent(purl)));
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) expect(listed).toContain(`pkg:npm/${name}@${String(lock.packages[`node_modules/${name}`]?.version)}`);
  });

  test('names everything that is installed with it, with its licence, and nothing that only the tests need', () => {
    const listed = [...new Set(made.components.map(({ name, version }) => `${name}@${version}`))].sort();
    expect(listed).toEqual([...new Set(shipped.map(([path, { version }]) => `${nameOf(path)}@${version}`))].sort());
    expect(listed.some((name) => name.startsWith('jest@'))).toBe(false);
    // Theirs stands in a file alone: 0BSD, and the Unlicense.
    expect(made.components.filter(({ licenses }) => licenses === undefined || licenses.length === 0).map(({ name }) => name)).toEqual(['htmx-ext-sse', 'unionfs']);
  });
});

describe('what is installed', () => {
  test('is locked by the digest of its content', () => {
    expect(shipped.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true).map(([path]) => path)).toEqual([]);
  });

  test('runs no script at its installation that was not decided on', () => {
    const undecided = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => nameOf(path)).filter((name) => !(name in manifest.allowScripts));
    // fsevents is of macOS alone, and is not run either without being allowed.
    expect(undecided.filter((name) => name !== 'fsevents')).toEqual([]);
  });
});

describe('known vulnerabilities', () => {
  const page = (rows: string): string => `# x\n\n| advisory | package | answer | until |\n|---|---|---|---|\n${rows}`;
  const finding = { id: 'GHSA-aaaa-bbbb-cccc', package: 'pg', severity: 'high', title: 'bad' };
  const answer = '| GHSA-aaaa-bbbb-cccc | `pg` | not reached: no such call | 2026-12-31 |\n';

  test.each([
    ['a finding with an answer is fine', [finding], answer, []],
    ['a finding without one is not', [finding], '', ['not answered: GHSA-aaaa-bbbb-cccc pg (high): bad']],
    ['an answer for another package is none', [finding], answer.replace('`pg`', '`pg-pool`'), [expect.stringContaining('not answered'), expect.stringContaining('answers nothing')]],
    ['an answer whose day has passed is none', [finding], answer.replace('2026-12-31', '2026-01-31'), ['answered until 2026-01-31 only: GHSA-aaaa-bbbb-cccc pg']],
    ['an answer to nothing is taken out', [], answer, ['answers nothing any more: GHSA-aaaa-bbbb-cccc pg']],
  ])('%s', (_, findings, rows, said) => {
    expect(judged(findings, answersOf(page(rows)), '2026-06-01')).toEqual(said);
  });

  /** npm itself, against a registry that knows of these advisories; null: one that does not answer the question. */
  async function audited(advisories: object | null): Promise<{ readonly code: number; readonly said: string }> {
    const server = createServer((request, response) => {
      const name = decodeURIComponent((request.url ?? '').slice(1));
      request.resume().on('end', () => {
        if (request.method === 'POST') response.writeHead(advisories === null ? 405 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(advisories ?? {}));
        else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ name, versions: { [String(lock.packages[`node_modules/${name}`]?.version)]: { name, version: lock.packages[`node_modules/${name}`]?.version, dependencies: {} } } }));
      });
    });
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    const env = { ...process.env, NODE_OPTIONS: '', npm_config_registry: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, npm_config_fetch_retries: '0' };
    try {
      return await new Promise((resolve) => {
        execFile(process.execPath, ['--import', 'tsx', 'scripts/audit-deps.ts'], { env }, (error, stdout, stderr) => { resolve({ code: error === null ? 0 : Number(error.code), said: stdout + stderr }); });
      });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  test('the command asks npm: it is clean, it has something to see to, or nothing is known, and it says which', async () => {
    const [clean, found, silent] = await Promise.all([
      audited({}),
      audited({ picocolors: [{ id: 1, url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc', title: 'paints it black', severity: 'high', vulnerable_versions: '<99.0.0', cwe: [], cvss: { score: 7 } }] }),
      audited(null),
    ]);
    expect(clean).toEqual({ code: 0, said: '0 findings, 0 to see to\n' });
    expect(found).toMatchObject({ code: 1, said: expect.stringContaining('not answered: GHSA-aaaa-bbbb-cccc picocolors (high): paints it black') });
    expect(silent).toMatchObject({ code: NOT_ASKED, said: expect.stringContaining('nothing is known') });
  });
});
