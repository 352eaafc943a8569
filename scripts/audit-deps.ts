/**
 * `npm run audit:deps`: asks the registry for known vulnerabilities of what the product installs (`npm audit --omit=dev`). Each finding must be
 * answered by a row of docs/security.md: `| GHSA-… | package | answer | until |`. Ends with 0 if all are; with 1 if one is not, if an answer's
 * day has passed, or if it answers nothing any more; with 2 if the registry could not be asked: nothing is then known.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const NOT_ASKED = 2;

export interface Finding {
  /** GHSA-… */
  readonly id: string;
  readonly package: string;
  readonly severity: string;
  readonly title: string;
}

export interface Answer {
  readonly id: string;
  readonly package: string;
  /** The last day that it holds: then somebody looks again. */
  readonly until: string;
}

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, { readonly via: readonly (string | { readonly name: string; readonly url: string; readonly severity: string; readonly title: string })[] }>>;
  readonly message?: string;
}

/** Each advisory once. Throws what npm says instead of a report. */
export function findingsOf(json: string): readonly Finding[] {
  const { vulnerabilities, message } = JSON.parse(json) as Report;
  if (vulnerabilities === undefined) throw new Error(message ?? 'npm gave no report');
  const found = new Map<string, Finding>();
  for (const { via } of Object.values(vulnerabilities)) {
    for (const advisory of via) {
      // A text names the package below through which it comes; that one has the advisory.
      if (typeof advisory === 'string') continue;
      const id = advisory.url.split('/').at(-1) ?? advisory.url;
      found.set(`${id} ${advisory.name}`, { id, package: advisory.name, severity: advisory.severity, title: advisory.title });
    }
  }
  return [...found.values()];
}

export const answersOf = (page: string): readonly Answer[] =>
  [...page.matchAll(/^\| (GHSA-[\w-]+) \| `([^`]+)` \| .+ \| (\d{4}-\d{2}-\d{2}) \|$/gm)].map(([, id = '', name = '', until = '']) => ({ id, package: name, until }));

/** What is wrong, a line each; empty: every finding has its answer. */
export function judged(findings: readonly Finding[], answers: readonly Answer[], today: string): readonly string[] {
  const isOf = (finding: Finding) => (answer: Answer): boolean => answer.id === finding.id && answer.package === finding.package;
  return [
    ...findings.filter((finding) => !answers.some(isOf(finding))).map(({ id, package: name, severity, title }) => `not answered: ${id} ${name} (${severity}): ${title}`),
    ...answers.filter(({ until }) => until < today).map(({ id, package: name, until }) => `answered until ${until} only: ${id} ${name}`),
    ...answers.filter((answer) => !findings.some((finding) => isOf(finding)(answer))).map(({ id, package: name }) => `answers nothing any more: ${id} ${name}`),
  ];
}

/** npm ends with 1 where it found something, and still reports. */
const report = (): Promise<string> =>
  new Promise((resolve) => {
    execFile('npm', ['audit', '--omit=dev', '--json'], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }, (_, stdout) => { resolve(stdout); });
  });

async function main(): Promise<void> {
  const json = await report();
  let findings: readonly Finding[];
  try {
    findings = findingsOf(json);
  } catch (error) {
    process.stderr.write(`The registry could not be asked, so nothing is known: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = NOT_ASKED;
    return;
  }
  const wrong = judged(findings, answersOf(await readFile(`${ROOT}/docs/security.md`, 'utf8')), new Date().toISOString().slice(0, 10));
  for (const line of wrong) process.stderr.write(`${line}\n`);
  process.stdout.write(`${String(findings.length)} findings, ${String(wrong.length)} to see to\n`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
