/** The states of a step: each means one thing. Source: docs/state-machine.md, generated from here. */
export const STEP_STATES = [
  'waiting',
  'queued',
  'leased',
  'submitted',
  'received',
  'in_progress',
  'unconfirmed',
  'completed',
  'succeeded',
  'failed',
  'cancel_requested',
  'cancelled',
  'dead',
] as const;

export type StepState = (typeof STEP_STATES)[number];

/** Where a rule starts: a state, or `none` before the step exists. */
export type FromState = StepState | 'none';

/** States that a stored step row may hold: `failed` exists only between two transition rows of one call. */
export type RestState = Exclude<StepState, 'failed'>;

interface Meaning {
  readonly en: string;
  readonly zh: string;
  /** Terminal: nothing but an attributed edge leaves it. */
  readonly terminal: boolean;
}

export const STATE_MEANINGS: Readonly<Record<StepState, Meaning>> = {
  waiting: { en: 'accepted; a step that it needs has not succeeded yet', zh: '已接受；所依赖的步骤尚未成功', terminal: false },
  queued: { en: 'accepted, nobody holds it, nothing outside is open', zh: '已接受，无人持有，外部没有未决的操作', terminal: false },
  leased: { en: 'one worker holds it and is executing an attempt', zh: '一个工作进程持有它并正在执行一次尝试', terminal: false },
  submitted: { en: 'the other side took the request; nothing heard since', zh: '对方已接收请求；此后没有消息', terminal: false },
  received: { en: 'a matched receipt proves that the other side has it and has read it', zh: '匹配的回执证明对方已收到并读取', terminal: false },
  in_progress: { en: 'a matched receipt proves that the other side is working on it', zh: '匹配的回执证明对方正在处理', terminal: false },
  unconfirmed: {
    en: 'something may have happened outside and the evidence is insufficient; it is being resolved and never re-sent on a guess',
    zh: '外部可能已发生动作但证据不足；正在查明，绝不凭猜测重发',
    terminal: false,
  },
  completed: { en: 'explicit completion, matched to this submission; its proof is not yet accepted', zh: '已有与本次提交匹配的明确完成；证明尚未被接受', terminal: false },
  succeeded: { en: 'completed, and the proof was accepted', zh: '已完成，且证明已被接受', terminal: true },
  failed: { en: 'this attempt failed (exists only inside one call)', zh: '本次尝试失败（仅存在于一次调用之内）', terminal: false },
  cancel_requested: { en: 'leased, and a stop was asked; the holder has not confirmed', zh: '正被持有且已要求停止；持有者尚未确认', terminal: false },
  cancelled: { en: 'confirmed: no side effect will be produced any more', zh: '已确认：不会再产生任何外部效果', terminal: true },
  dead: { en: 'used up, not retryable, or uncertain: needs a person', zh: '已用尽、不可重试或不确定：需要人工处理', terminal: true },
};

/** The four states that wait for the other side. */
export const WAITING_OUTSIDE = ['submitted', 'received', 'in_progress', 'unconfirmed'] as const satisfies readonly StepState[];

export const isTerminal = (state: StepState): boolean => STATE_MEANINGS[state].terminal;
export const isHeld = (state: StepState): boolean => state === 'leased' || state === 'cancel_requested';
/** Green belongs to this alone. */
export const isSuccess = (state: StepState | ParentStatus): boolean => state === 'succeeded';

/** The statuses of a task; a total function of its steps (src/state/parent.ts). */
export const PARENT_STATUSES = [
  'dead',
  'unconfirmed',
  'cancelling',
  'running',
  'awaiting_receipt',
  'queued',
  'succeeded',
  'cancelled',
] as const;

export type ParentStatus = (typeof PARENT_STATUSES)[number];
