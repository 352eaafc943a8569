/** The short forms of the fault campaigns, which load a machine for minutes: one after the other, apart from the other tests. */
import config from './jest.config.js';

/** @type {import('jest').Config} */
export default { ...config, testMatch: ['<rootDir>/test/campaigns/*.test.ts'], testPathIgnorePatterns: ['/node_modules/'], maxWorkers: 1 };
