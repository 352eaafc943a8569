/**
 * The arrows of the architecture: who may import whom. `npm run arrows` checks them, test/tidy.test.ts
 * proves that a wrong arrow is caught. A folder that is not listed may not be imported from src at all.
 */

/** For each folder: what it may import beside itself. `errors.ts` is below everyone but the state. */
const MAY_IMPORT = {
  state: [],
  define: ['state', 'errors.ts'],
  ledger: ['state', 'errors.ts', 'failpoint.ts'],
  activities: ['state', 'ledger', 'define', 'tracing/spans', 'errors.ts', 'failpoint.ts'],
  workflows: ['state', 'activities'],
  // `workflows/names.ts` and `search-attributes.ts` are for all who talk to Temporal: type, ids, attributes; no workflow code.
  // What is measured, at the door; and spans, for all who act.
  metrics: ['state', 'ledger', 'errors.ts'],
  tracing: ['errors.ts'],
  worker: ['metrics', 'tracing', 'state', 'activities', 'ledger', 'define', 'client/explain', 'webhooks', 'workflows/names', 'workflows/search-attributes', 'config.ts', 'errors.ts', 'failpoint.ts'],
  client: ['metrics', 'tracing/spans', 'state', 'workflows/messages', 'workflows/names', 'ledger', 'define', 'webhooks/signature', 'webhooks/url', 'errors.ts'],
  // Signing and sending; `webhooks/signature` is for all who send or are sent something.
  webhooks: ['state', 'errors.ts'],
  api: ['metrics', 'tracing', 'client', 'webhooks/signature', 'console', 'config.ts', 'errors.ts', 'state'],
  // The client over HTTP: of the direct one it sees types alone.
  http: ['client', 'ledger', 'define', 'state', 'errors.ts'],
  // The API serves it; of the API it takes who calls, and which language.
  console: ['client', 'api/caller', 'api/language', 'workflows/names', 'config.ts', 'errors.ts', 'state'],
  cli: ['client', 'config.ts', 'errors.ts', 'state', 'api', 'console', 'worker', 'dev', 'ledger/migrate', 'ledger/inspect', 'workflows/names', 'define', 'metrics', 'tracing', 'index.ts'],
  dev: ['workflows/names', 'config.ts', 'errors.ts'],
};

/** A file, a folder, or a file without its ending. */
const pathOf = (name) => (name.endsWith('.ts') ? `^src/${name.replace('.', '\\.')}$` : `^src/${name}(/|\\.tsx?$)`);

const folderRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `${folder}-may-import`,
  comment: `src/${folder} may import ${allowed.length === 0 ? 'nothing' : allowed.join(', ')} beside itself.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^(src|test|examples|scripts|bench)/', pathNot: [folder, ...allowed].map(pathOf) },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...folderRules,
    {
      name: 'state-is-pure',
      comment: 'src/state runs in the workflow sandbox, in every process and in generators: no package, no Node.',
      severity: 'error',
      from: { path: '^src/state/' },
      to: { pathNot: '^src/' },
    },
    {
      name: 'workflows-are-sandboxed',
      comment: 'Workflow code may use @temporalio/workflow and @temporalio/common, nothing else from outside.',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { pathNot: ['^src/', '(^|/)node_modules/@temporalio/(workflow|common)/'] },
    },
    {
      name: 'workflows-see-activity-types-only',
      comment: 'Activities reach a workflow by `import type`; their code would pull Node into the sandbox.',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { path: '^src/activities/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'http-client-needs-no-database',
      comment: 'Services that see only the API load neither pg nor Temporal: types of the direct client, nothing else of it.',
      severity: 'error',
      from: { path: '^src/http/' },
      to: { path: '^src/(client|ledger)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sql-has-one-home',
      comment: 'Only src/ledger (and the local stack, which makes the database; and a service with a database of its own) may import pg.',
      severity: 'error',
      from: { path: '^(src|examples)/', pathNot: '^(src/(ledger|dev)|examples/services)/' },
      to: { path: '(^|/)node_modules/(@types/)?pg/' },
    },
    {
      name: 'errors-and-config-are-low',
      comment: 'The catalogue imports nothing; the configuration only the catalogue and zod.',
      severity: 'error',
      from: { path: '^src/(errors|config)\\.ts$' },
      to: { path: '^src/', pathNot: '^src/errors\\.ts$' },
    },
    {
      name: 'product-knows-no-test',
      comment: 'What is published does not import tests, examples, scripts or benchmarks.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|examples|scripts|bench)/' },
    },
    {
      name: 'product-has-its-dependencies',
      comment: 'What is published may not rely on a devDependency. The local stack tries two and says so when they are missing.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/dev/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'users-see-the-public-api',
      comment: 'Examples and benchmarks import what a user can: the index and the local stack.',
      severity: 'error',
      from: { path: '^(examples|bench)/' },
      to: { path: '^src/', pathNot: '^src/(dev/)?index\\.ts$' },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one; types may.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'everything-is-found',
      comment: 'An import that does not resolve is checked by no other rule. Types that only @types brings are the compiler\'s to find.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(mdast|hast|unist)$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|bench/node_modules)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
