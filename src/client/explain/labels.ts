import type { ExplainLanguage } from './types.ts';

/** Titles of the text form. */
const EN = {
  colon: ': ', semicolon: '; ',
  task: 'Task', key: 'key', status: 'Status', since: 'since', reason: 'Reason', blocked_on: 'Waits on', will_run_again: 'Will it run again?', next_action: 'What to do', also: 'Also',
  driver: 'Driver', again_of: 'Repeats', again_as: 'Repeated by', steps: 'Steps', attempts: 'attempts', last_failure: 'last failure', open: 'open', cancels: 'Cancels', next_check: 'next check',
  touches: 'What touched the outside', attempt: 'attempt', message: 'message', receipts_matched: 'Receipts that count', receipts_refused: 'Receipts that moved nothing', proof: 'Proof',
  found: 'exists', ours: 'ours', minimum: 'minimum', read: 'read', yes: 'yes', no: 'no', unknown: 'unknown', story: 'Story', as_of: 'As of', entry: 'ledger entry',
  left_out: (n: number): string => `${String(n)} lines in between are left out here; the history has them all`,
};

export type Labels = typeof EN;

const ZH: Labels = {
  colon: '：', semicolon: '；',
  task: '任务', key: '键', status: '状态', since: '始于', reason: '原因', blocked_on: '等待于', will_run_again: '会再执行吗', next_action: '该做什么', also: '另外',
  driver: '驱动', again_of: '重新发布', again_as: '被重新发布为', steps: '步骤', attempts: '尝试', last_failure: '最近的失败', open: '未决', cancels: '取消', next_check: '下次核查',
  touches: '触及外部', attempt: '尝试', message: '消息', receipts_matched: '有效的回执', receipts_refused: '未移动任何状态的回执', proof: '证明',
  found: '存在', ours: '属于本任务', minimum: '达到最低要求', read: '读到', yes: '是', no: '否', unknown: '未知', story: '经过', as_of: '截至', entry: '账本条目',
  left_out: (n) => `此处略去中间 ${String(n)} 行；历史中全部保留`,
};

export const LABELS: Readonly<Record<ExplainLanguage, Labels>> = { en: EN, 'zh-CN': ZH };
