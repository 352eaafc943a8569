/**
 * The longest files first, so that none of them is left to run alone at the end. Jest knows how long a file took only
 * where it ran before; a fresh clone would go by file size, which says nothing about a file that waits for processes.
 */
const { default: Sequencer } = require('@jest/test-sequencer');

/** Those of half a minute and more, the longest first. */
const LONG = ['cli/worker', 'e2e/kill', 'examples/demo', 'dev/stack', 'e2e/outage', 'cli/questions', 'e2e/temporal', 'e2e/publishing', 'e2e/withdraw', 'client/operator', 'cli/operator', 'cli/actions', 'cli/webhooks', 'examples/platform-store', 'ledger/concurrency', 'tidy'];

const rank = ({ path }) => {
  const at = LONG.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
  return at < 0 ? LONG.length : at;
};

module.exports = class extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b));
  }
};
