/** What each finding says, and what to do about it, in both languages. */
import type { Language } from '../../config.ts';
import type { Facts, FindingCode, Level } from './findings.ts';

/** `todo` is empty where there is nothing to do. */
export interface Words {
  readonly says: string;
  readonly todo: string;
}

type Phrase = (f: Facts) => readonly [says: string, todo?: string];
const at = (f: Facts, name: string): string => String(f[name] ?? '?');

const en: Readonly<Record<FindingCode, Phrase>> = {
  PROGRAM: (f) => [`throughline ${at(f, 'version')} on Node ${at(f, 'node')}`],
  DATABASE_URL_MISSING: () => ['DATABASE_URL is not set', 'Set it to the postgres:// URL of the ledger; `throughline dev` starts one.'],
  PG_UNREACHABLE: (f) => [`Postgres at ${at(f, 'at')} does not let us in: ${at(f, 'error')}`, 'Check address, firewall, password and whether the server runs. Meanwhile nothing moves, nothing is charged and nobody loses a lease for it.'],
  PG_REACHABLE: (f) => [`Postgres ${at(f, 'version')} answers at ${at(f, 'at')}`],
  PG_VERSION: (f) => [`Postgres ${at(f, 'version')} is too old`, 'Upgrade to 18 or later.'],
  PG_READ_ONLY: () => ['this server is a replica: it takes no writes', 'Point DATABASE_URL at the primary.'],
  PG_UNSAFE_SETTING: (f) => [`off: ${at(f, 'settings')}; a crash can lose what was answered`, 'Turn it on: effects would be repeated that the ledger forgot.'],
  PG_ISOLATION: (f) => [`transactions are ${at(f, 'isolation')} by default`, 'Set default_transaction_isolation to read committed for this database or role.'],
  PG_CONNECTIONS: (f) => [`${at(f, 'used')} of ${at(f, 'max')} connections are in use`, 'A worker takes up to 24, a client 10: raise max_connections or put a pooler in session mode before it.'],
  PG_REPLICATION_NONE: () => ['no replica is connected', 'For production, run a synchronous replica: losing the disk would lose the ledger.'],
  PG_REPLICATION_ASYNC: (f) => [`${at(f, 'standbys')} replicas, none synchronous`, 'A failover can lose the last epochs and intents: set synchronous_standby_names.'],
  PG_REPLICATION_SYNC: (f) => [`replication is synchronous (${at(f, 'standbys')} connected)`],
  SCHEMA_MISSING: (f) => [`migrations are missing: ${at(f, 'names')}`, 'Run `throughline migrate`.'],
  SCHEMA_NEWER: (f) => [`the database has migrations that this program does not know: ${at(f, 'names')}`, 'Use the version that made them, or a later one.'],
  SCHEMA_CURRENT: () => ['migrations, rules and functions are in place'],
  FUNCTIONS_OUTDATED: () => ['the functions of the ledger are of another version', 'Run `throughline migrate`.'],
  FUNCTIONS_EDITED: () => ['a function of the ledger was changed by hand', 'Run `throughline migrate`: it makes them anew. Find out who changed it, and why.'],
  CLOCK_HERE: (f) => [`Postgres's clock is ${at(f, 'ms')} ms ahead of this machine's`, ''],
  CLOCK_WORKERS: (f) => [`workers' clocks are off: ${at(f, 'workers')}`, 'Nothing is decided by them, but logs and deadlines of theirs mislead: run NTP there.'],
  CLOCK_SHIFTED: (f) => [`the ledger's clock is shifted by ${at(f, 'ms')} ms`, 'Only tests do that: set throughline.clock.shift to 0.'],
  TEMPORAL_UNSET: () => ['TEMPORAL_ADDRESS is not set', 'Set it (or a profile) to have Temporal checked, too.'],
  TEMPORAL_UNREACHABLE: (f) => [`Temporal at ${at(f, 'address')} does not answer: ${at(f, 'error')}`, 'Check address, TLS, API key and whether it runs. Meanwhile enqueue, cancel, receipts and questions work; execution resumes by itself.'],
  TEMPORAL_REACHABLE: (f) => [`Temporal ${at(f, 'version')} answers at ${at(f, 'address')}`],
  NAMESPACE_UNKNOWN: (f) => [`there is no namespace ${at(f, 'namespace')}`, 'Make it: `temporal operator namespace create --namespace NAME`, or set TEMPORAL_NAMESPACE.'],
  NAMESPACE_RETENTION: (f) => [`namespace ${at(f, 'namespace')} keeps closed workflows for ${at(f, 'days')} days`, ''],
  SEARCH_ATTRIBUTES: () => ['the search attributes are registered'],
  SEARCH_ATTRIBUTES_MISSING: (f) => [`search attributes are not registered: ${at(f, 'names')}`, `For each: \`temporal operator search-attribute create --namespace ${at(f, 'namespace')} --type Keyword --name NAME\`, then restart the workers. Until then tasks run without them.`],
  SEARCH_ATTRIBUTES_UNREADABLE: (f) => [`whether the search attributes are registered cannot be read here`, `On Temporal Cloud look in its own UI for ${at(f, 'names')}, each a Keyword.`],
  POLLERS: (f) => [`queue ${at(f, 'queue')} is polled: ${at(f, 'workflows')} for workflows, ${at(f, 'activities')} for activities`],
  POLLERS_NONE: (f) => [`queue ${at(f, 'queue')} is not polled: ${at(f, 'workflows')} for workflows, ${at(f, 'activities')} for activities`, 'Start a worker with this THROUGHLINE_TASK_QUEUE and namespace.'],
  WORKERS: (f) => [`${at(f, 'workers')} workers showed themselves, on ${at(f, 'queues')}`],
  WORKERS_NONE: () => ['no worker has shown itself lately', 'Start one: `throughline worker --tasks MODULE`.'],
  TYPES_UNOFFERED: (f) => [`open tasks that no worker offers: ${at(f, 'types')}`, 'Start a worker whose module defines this type in this version. Nothing is charged meanwhile.'],
  OUTBOX: (f) => [`wake-ups are sent on time (${at(f, 'waiting')} waiting)`],
  OUTBOX_PARKED: (f) => [`${at(f, 'parked')} wake-ups are parked: ${at(f, 'tasks')}`, 'See `throughline explain TASK` for the error; mend its cause, then `throughline unpark TASK`.'],
  OUTBOX_LATE: (f) => [`${at(f, 'waiting')} wake-ups wait, the oldest for ${at(f, 'seconds')} s`, 'Is a worker running, and does it reach Temporal? Its log says why sending failed.'],
  QUEUED_LATE: (f) => [`due steps wait long: ${at(f, 'types')}`, 'More workers, or more --attempts-at-once; `throughline list --status queued` names the tasks.'],
  STEPS_DEAD: (f) => [`${at(f, 'steps')} steps are dead (${at(f, 'reasons')})`, '`throughline list --status dead`, then `throughline explain TASK`; then `throughline replay`, or `throughline confirm-effect` or `throughline confirm-absent` with evidence.'],
  STEPS_UNCONFIRMED: (f) => [`of ${at(f, 'steps')} steps it is not known whether they acted (${at(f, 'reasons')})`, 'They resolve themselves while looks are left; `throughline list --status unconfirmed`.'],
  CANCELS_OVERDUE: (f) => [`${at(f, 'cancels')} cancels have no verdict past their deadline`, '`throughline explain TASK` says what each waits for.'],
  RECEIPTS_OVERDUE: (f) => [`${at(f, 'steps')} receipts or reviews are overdue`, 'Ask the other side, or the reviewer; `throughline explain TASK` says what happens next.'],
  LEASES_EXPIRED: (f) => [`${at(f, 'leases')} leases ran out and are not rescued yet`, 'A running worker\'s sweeper does that within seconds; after an outage of Postgres it waits for one lease length.'],
};

const zh: Readonly<Record<FindingCode, Phrase>> = {
  PROGRAM: (f) => [`throughline ${at(f, 'version')}，Node ${at(f, 'node')}`],
  DATABASE_URL_MISSING: () => ['未设置 DATABASE_URL', '将其设为账本的 postgres:// 地址；`throughline dev` 可启动一个。'],
  PG_UNREACHABLE: (f) => [`无法连接 ${at(f, 'at')} 的 Postgres：${at(f, 'error')}`, '检查地址、防火墙、密码以及服务器是否运行。在此期间不会推进任何工作，不计尝试次数，也没有人因此失去租约。'],
  PG_REACHABLE: (f) => [`Postgres ${at(f, 'version')} 在 ${at(f, 'at')} 应答`],
  PG_VERSION: (f) => [`Postgres ${at(f, 'version')} 版本过旧`, '升级到 18 或更高版本。'],
  PG_READ_ONLY: () => ['此服务器是副本，不接受写入', '让 DATABASE_URL 指向主库。'],
  PG_UNSAFE_SETTING: (f) => [`已关闭：${at(f, 'settings')}；崩溃可能丢失已答复的内容`, '请打开：否则账本忘记的外部操作会被重复。'],
  PG_ISOLATION: (f) => [`默认事务隔离级别为 ${at(f, 'isolation')}`, '为此数据库或角色将 default_transaction_isolation 设为 read committed。'],
  PG_CONNECTIONS: (f) => [`${at(f, 'max')} 个连接中已用 ${at(f, 'used')} 个`, '一个工作进程最多占 24 个，一个客户端 10 个：提高 max_connections，或在前面放置会话模式的连接池。'],
  PG_REPLICATION_NONE: () => ['没有副本连接', '生产环境请运行同步副本：磁盘丢失即账本丢失。'],
  PG_REPLICATION_ASYNC: (f) => [`${at(f, 'standbys')} 个副本，均非同步`, '故障切换可能丢失最后的纪元和意图：请设置 synchronous_standby_names。'],
  PG_REPLICATION_SYNC: (f) => [`复制为同步（${at(f, 'standbys')} 个已连接）`],
  SCHEMA_MISSING: (f) => [`缺少迁移：${at(f, 'names')}`, '运行 `throughline migrate`。'],
  SCHEMA_NEWER: (f) => [`数据库含有本程序不认识的迁移：${at(f, 'names')}`, '使用创建它们的版本或更新的版本。'],
  SCHEMA_CURRENT: () => ['迁移、规则和函数均已就位'],
  FUNCTIONS_OUTDATED: () => ['账本的函数属于另一个版本', '运行 `throughline migrate`。'],
  FUNCTIONS_EDITED: () => ['账本的某个函数被人工改动', '运行 `throughline migrate` 会重新创建。请查明是谁改的、为什么。'],
  CLOCK_HERE: (f) => [`Postgres 的时钟比本机快 ${at(f, 'ms')} 毫秒`, ''],
  CLOCK_WORKERS: (f) => [`工作进程的时钟不准：${at(f, 'workers')}`, '它们不决定任何事，但其日志和期限会误导人：请在那里运行 NTP。'],
  CLOCK_SHIFTED: (f) => [`账本的时钟被偏移了 ${at(f, 'ms')} 毫秒`, '只有测试会这样做：将 throughline.clock.shift 设为 0。'],
  TEMPORAL_UNSET: () => ['未设置 TEMPORAL_ADDRESS', '设置它（或配置文件）以便同时检查 Temporal。'],
  TEMPORAL_UNREACHABLE: (f) => [`${at(f, 'address')} 的 Temporal 没有应答：${at(f, 'error')}`, '检查地址、TLS、API 密钥以及是否运行。在此期间提交、取消、回执和查询照常；执行会自行恢复。'],
  TEMPORAL_REACHABLE: (f) => [`Temporal ${at(f, 'version')} 在 ${at(f, 'address')} 应答`],
  NAMESPACE_UNKNOWN: (f) => [`没有命名空间 ${at(f, 'namespace')}`, '创建它：`temporal operator namespace create --namespace NAME`，或设置 TEMPORAL_NAMESPACE。'],
  NAMESPACE_RETENTION: (f) => [`命名空间 ${at(f, 'namespace')} 将已结束的工作流保留 ${at(f, 'days')} 天`, ''],
  SEARCH_ATTRIBUTES: () => ['搜索属性已注册'],
  SEARCH_ATTRIBUTES_MISSING: (f) => [`搜索属性未注册：${at(f, 'names')}`, `逐个执行：\`temporal operator search-attribute create --namespace ${at(f, 'namespace')} --type Keyword --name NAME\`，然后重启工作进程。在此之前任务不带这些属性运行。`],
  SEARCH_ATTRIBUTES_UNREADABLE: (f) => ['无法在此读取搜索属性是否已注册', `在 Temporal Cloud 的界面中查看 ${at(f, 'names')}，类型均为 Keyword。`],
  POLLERS: (f) => [`队列 ${at(f, 'queue')} 有轮询者：工作流 ${at(f, 'workflows')}，活动 ${at(f, 'activities')}`],
  POLLERS_NONE: (f) => [`队列 ${at(f, 'queue')} 缺少轮询者：工作流 ${at(f, 'workflows')}，活动 ${at(f, 'activities')}`, '以此 THROUGHLINE_TASK_QUEUE 和命名空间启动工作进程。'],
  WORKERS: (f) => [`${at(f, 'workers')} 个工作进程在线，队列 ${at(f, 'queues')}`],
  WORKERS_NONE: () => ['近期没有工作进程报到', '启动一个：`throughline worker --tasks MODULE`。'],
  TYPES_UNOFFERED: (f) => [`没有工作进程提供的未完成任务：${at(f, 'types')}`, '启动定义了此类型和版本的工作进程。在此期间不计尝试次数。'],
  OUTBOX: (f) => [`唤醒按时发送（${at(f, 'waiting')} 条等待）`],
  OUTBOX_PARKED: (f) => [`${at(f, 'parked')} 条唤醒被搁置：${at(f, 'tasks')}`, '用 `throughline explain TASK` 查看错误；修复原因后执行 `throughline unpark TASK`。'],
  OUTBOX_LATE: (f) => [`${at(f, 'waiting')} 条唤醒在等待，最久的已等 ${at(f, 'seconds')} 秒`, '工作进程是否在运行、能否连上 Temporal？其日志会说明发送失败的原因。'],
  QUEUED_LATE: (f) => [`到期的步骤等待过久：${at(f, 'types')}`, '增加工作进程或 --attempts-at-once；`throughline list --status queued` 列出任务。'],
  STEPS_DEAD: (f) => [`${at(f, 'steps')} 个步骤已终止（${at(f, 'reasons')}）`, '`throughline list --status dead`，然后 `throughline explain TASK`；再 `throughline replay`，或以证据 `throughline confirm-effect`、`throughline confirm-absent`。'],
  STEPS_UNCONFIRMED: (f) => [`${at(f, 'steps')} 个步骤不知是否已对外生效（${at(f, 'reasons')}）`, '尚有查证次数时会自行解决；`throughline list --status unconfirmed`。'],
  CANCELS_OVERDUE: (f) => [`${at(f, 'cancels')} 个取消超过期限仍无结论`, '`throughline explain TASK` 说明各自在等什么。'],
  RECEIPTS_OVERDUE: (f) => [`${at(f, 'steps')} 个回执或审核已逾期`, '询问对方或审核人；`throughline explain TASK` 说明接下来会发生什么。'],
  LEASES_EXPIRED: (f) => [`${at(f, 'leases')} 个租约已到期但尚未接管`, '运行中的工作进程会在数秒内接管；Postgres 中断之后会先等一个租约时长。'],
};

const PHRASES: Readonly<Record<Language, Readonly<Record<FindingCode, Phrase>>>> = { en, 'zh-CN': zh };

export function wordsOf(code: FindingCode, facts: Facts, lang: Language): Words {
  const [says, todo = ''] = PHRASES[lang][code](facts);
  return { says, todo };
}

export const LEVELS: Readonly<Record<Language, Readonly<Record<Level, string>>>> = {
  en: { ok: 'ok', warning: 'look', problem: 'PROBLEM' },
  'zh-CN': { ok: '正常', warning: '留意', problem: '问题' },
};

export const SUMMARY: Readonly<Record<Language, Readonly<Record<Level, string>>>> = {
  en: { ok: 'All is well.', warning: 'It works; some things want a look.', problem: 'Something does not work, or a promise is in danger.' },
  'zh-CN': { ok: '一切正常。', warning: '可以工作；有些地方值得留意。', problem: '有东西不能工作，或某个承诺有危险。' },
};
