/**
 * `npm run sbom`: writes `sbom.cdx.json` (CycloneDX 1.5), what an installation of the product consists of, as `package-lock.json` has it:
 * the same lock gives the same components. What only the tests and checks need is left out. Another file: `npm run sbom -- FILE`.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly unknown[];
}

export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const text = (file: string): Promise<string> => readFile(`${ROOT}/${file}`, 'utf8');

/** npm's own list, and of it what is installed without the tests' tools. Throws what npm says if it can't be made. */
export async function sbom(): Promise<Sbom> {
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const made = JSON.parse(stdout) as Sbom;
  const { name } = JSON.parse(await text('package.json')) as { name: string };
  const { packages } = JSON.parse(await text('package-lock.json')) as { packages: Readonly<Record<string, { version: string; dev?: boolean }>> };
  // Not `npm sbom --omit dev`: that leaves out whatever a development dependency needs as well, Temporal's own packages among it.
  const shipped = new Set(Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true).map(([path, { version }]) => `${nameOf(path)}@${version}`));
  const components = made.components.filter((component) => shipped.has(`${component.name}@${component.version}`));
  const root = made.metadata.component;
  const refs = new Set([root['bom-ref'], ...components.map((component) => component['bom-ref'])]);
  return {
    ...made,
    // npm names the product by the folder that it lies in.
    metadata: { ...made.metadata, component: { ...root, name } },
    components,
    dependencies: made.dependencies.filter(({ ref }) => refs.has(ref)).map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  };
}

async function main(): Promise<void> {
  const [file = 'sbom.cdx.json'] = process.argv.slice(2);
  const made = await sbom();
  await writeFile(file, `${JSON.stringify(made, null, 2)}\n`);
  process.stdout.write(`${file}: ${String(made.components.length)} components, CycloneDX ${made.specVersion}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
