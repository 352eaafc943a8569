/** Headings and labels of the tables. Sentences come from `explain`, meanings from the state's own tables. */
import type { Language } from '../config.ts';

const en = {
  id: 'ID', type: 'TYPE', key: 'KEY', status: 'STATUS', reason: 'REASON', since: 'SINCE', next: 'NEXT', step: 'STEP', state: 'STATE', tries: 'TRIES', at: 'AT', what: 'WHAT', by: 'BY', entry: 'ENTRY', verdict: 'VERDICT',
  events: 'EVENTS', pending: 'PENDING', parked: 'PARKED', enabled: 'enabled',
  none: 'No task matches.',
  nothing: 'Nothing to show.',
  more: 'More:',
  asOf: (at: string, seq: number) => `as of ${at}, entry ${String(seq)}`,
  attempt: (attempt: number) => `attempt ${String(attempt)}`,
  enqueued: 'accepted',
  known: 'known already: the key belongs to this task',
  repeated: 'answered before under this id',
  migrated: (names: readonly string[]) => (names.length === 0 ? 'The schema is up to date.' : `Applied: ${names.join(', ')}.`),
  moved: (state: string) => `the step is ${state}`,
  notJudged: 'stored; judged later',
  replayed: 'replayed',
  refused: (code: string, sentence: string) => `refused: ${code}. ${sentence}`,
  again: (of: string) => `repeats ${of}`,
  ready: (types: string, queue: string) => `Ready: ${types} on queue ${queue}. Ctrl-C stops it.`,
  away: 'The ledger cannot be reached; waiting for it.',
  measured: (port: number) => `Metrics: port ${String(port)}, /metrics and /healthz.`,
  secretOnce: 'secret, shown this once',
  tokenOnce: 'token, shown this once',
  serving: (url: string) => `Ready: ${url}, described at ${url}/docs. Ctrl-C stops it.`,
  name: 'NAME', role: 'ROLE', sender: 'SENDER', expires: 'EXPIRES', used: 'LAST USED', revoked: 'revoked', inForce: 'in force', expired: 'expired',
  removed: (dropped: number) => `removed; ${String(dropped)} pending or parked notifications dropped`,
  unparked: 'pending again',
  notParked: (status: string) => `not parked: it is ${status}`,
  kinds: { transition: 'transition', parent: 'task', intent: 'sending', outcome: 'answer', receipt: 'receipt', cancel: 'cancel', check: 'check', correction: 'correction', late: 'late truth', note: 'note' },
} as const;

type Same<T> = { readonly [K in keyof T]: T[K] extends string ? string : T[K] extends (...args: infer A) => string ? (...args: A) => string : Same<T[K]> };
export type Words = Same<typeof en>;

const zh: Words = {
  id: '编号', type: '类型', key: '键', status: '状态', reason: '原因', since: '自', next: '下次', step: '步骤', state: '状态', tries: '次数', at: '时间', what: '内容', by: '操作者', entry: '条目', verdict: '结论',
  events: '事件', pending: '待发', parked: '搁置', enabled: '启用',
  none: '没有符合条件的任务。',
  nothing: '没有内容。',
  more: '更多：',
  asOf: (at, seq) => `截至 ${at}，条目 ${String(seq)}`,
  attempt: (attempt) => `第 ${String(attempt)} 次尝试`,
  enqueued: '已接受',
  known: '已存在：该键属于此任务',
  repeated: '此前已在同一编号下答复',
  migrated: (names) => (names.length === 0 ? '数据库结构已是最新。' : `已应用：${names.join('、')}。`),
  moved: (state) => `步骤现为 ${state}`,
  notJudged: '已保存；稍后判定',
  replayed: '已重新执行',
  refused: (code, sentence) => `被拒绝：${code}。${sentence}`,
  again: (of) => `重复 ${of}`,
  ready: (types, queue) => `就绪：${types}，队列 ${queue}。按 Ctrl-C 停止。`,
  away: '暂时无法连接账本；正在等待。',
  measured: (port) => `指标：端口 ${String(port)}，/metrics 与 /healthz。`,
  secretOnce: '密钥，仅显示这一次',
  tokenOnce: '令牌，仅显示这一次',
  serving: (url) => `就绪：${url}，说明见 ${url}/docs。按 Ctrl-C 停止。`,
  name: '名称', role: '角色', sender: '发送方', expires: '到期', used: '上次使用', revoked: '已吊销', inForce: '有效', expired: '已过期',
  removed: (dropped) => `已移除；丢弃了 ${String(dropped)} 条待发或搁置的通知`,
  unparked: '重新待发',
  notParked: (status) => `未搁置：当前为 ${status}`,
  kinds: { transition: '转换', parent: '任务', intent: '发送', outcome: '应答', receipt: '回执', cancel: '取消', check: '检查', correction: '更正', late: '迟到的事实', note: '备注' },
};

export const WORDS: Readonly<Record<Language, Words>> = { en, 'zh-CN': zh };
