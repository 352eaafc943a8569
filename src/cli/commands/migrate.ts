import { requireDatabaseUrl } from '../../config.ts';
import { makeCommand } from '../command.ts';

export const migrateCommand = () =>
  makeCommand({
    name: 'migrate',
    summary: "bring the ledger's schema up to this program's",
    description:
      'Applies the migrations that the database named by DATABASE_URL lacks, then the functions of the ledger. Safe to run from any number of processes at once: one migrates, the others wait. A database that is newer than this program is left alone.',
    examples: [
      ['migrate', 'before the first start and after each update'],
      ['migrate --json', 'answers {"applied": [names]}; empty if nothing was missing'],
    ],
    exits: '5 if the database cannot be reached or is newer (LEDGER_NEWER)',
    async run(context) {
      const url = requireDatabaseUrl(context.config);
      const { Database, migrate } = await import('../../index.ts');
      const database = new Database({ url, connectionsMax: 1, applicationName: 'throughline-migrate' });
      try {
        const { applied } = await migrate(database, context.note);
        await context.answer({ applied }, () => [context.words.migrated(applied)]);
      } finally {
        await database.end();
      }
    },
  });
