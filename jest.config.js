/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // `npm run campaigns` runs those.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/campaigns/'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022', keepClassNames: true },
        sourceMaps: 'inline',
      },
    ],
    '^.+\\.tsx$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript', tsx: true }, target: 'es2022', keepClassNames: true, transform: { react: { runtime: 'automatic', importSource: 'preact' } } },
        sourceMaps: 'inline',
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/bench/', '<rootDir>/.throughline/'],
  testSequencer: '<rootDir>/test/support/sequencer.cjs',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Real servers answer in milliseconds, but two workers, Postgres and Temporal share two cores.
  testTimeout: 60_000,
  maxWorkers: 2,
};
