import { builtinModules } from 'node:module';
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Node's modules in both spellings: workflow code is replayed and may not see clock, disk or network. */
const nodeModules = builtinModules.filter((name) => !name.startsWith('_')).flatMap((name) => [name, `node:${name}`]);

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'coverage/', '.throughline/', 'bench/node_modules/', 'test/histories/**/*.json'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Index signatures are read as ['NAME'] (noPropertyAccessFromIndexSignature), which this rule would undo.
      '@typescript-eslint/dot-notation': 'off',
      // A promise for a caller who must get one, whatever the body does today.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use node:crypto; in workflows, the ledger decides.' },
      ],
    },
  },
  {
    files: ['src/workflows/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: ['pg', ...nodeModules].map((name) => ({
            name,
            message: 'Workflow code is replayed: no Node, clock, random or pg. Ask an activity.',
          })),
          patterns: [
            { group: ['**/activities/**'], allowTypeImports: true, message: 'Activities by `import type` only.' },
            { group: ['**/ledger/**', '**/worker/**', '**/client/**'], message: 'Workflow code sees state, messages and activity types.' },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'Buffer', 'fetch', 'performance', 'crypto', 'require'],
    },
  },
  {
    // Programs for people: what they print is their purpose. Tests may print, too.
    files: ['src/cli/**/*.ts', 'examples/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // jest's mocks and matchers are typed with any and hold unbound methods.
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
