/**
 * Reason codes: every transition carries one. Stable for ever, only added to (a test guards the list).
 * `verdict` is what an open cancel is answered when the step comes to an end or to a point of no return
 * with this reason.
 */
export type CancelVerdict =
  | 'pending'
  | 'prevented'
  | 'stopped_at_boundary'
  | 'too_late'
  | 'withdrawn'
  | 'needs_person'
  | 'already_terminal';

export interface Reason {
  readonly en: string;
  readonly zh: string;
  /** Who ends a task with this reason, where it can: a user's decision or a protection of the system. */
  readonly ended_by?: 'user' | 'protection' | 'success';
  readonly verdict?: CancelVerdict;
}

const reason = (en: string, zh: string, more: Pick<Reason, 'ended_by' | 'verdict'> = {}): Reason => ({ en, zh, ...more });
const user = (verdict: CancelVerdict): Pick<Reason, 'ended_by' | 'verdict'> => ({ ended_by: 'user', verdict });
const protection: Pick<Reason, 'ended_by' | 'verdict'> = { ended_by: 'protection', verdict: 'needs_person' };

export const REASONS = {
  // Begin
  new_task: reason('the task was accepted', '任务已接受'),
  upstream_succeeded: reason('every step that it needs has succeeded', '所依赖的步骤均已成功'),
  upstream_cancelled: reason('a step that it needs was cancelled', '所依赖的步骤已取消', user('prevented')),
  cancelled_before_execution: reason('cancelled before any attempt', '在任何尝试之前已取消', user('prevented')),
  cancelled_before_retry: reason('cancelled before the retry', '在重试之前已取消', user('prevented')),
  deadline_passed: reason('the deadline for its start passed', '已过开始期限', { ended_by: 'protection', verdict: 'prevented' }),
  claimed: reason('a worker took it for an attempt', '工作进程已领取并开始尝试'),
  resend_same_key: reason('repeated under the same key, which the other side dedupes', '用同一幂等键重发，对方会去重'),
  cancel_asked: reason('a cancel was asked while an attempt was running', '尝试进行中收到取消请求'),
  // End of an attempt
  answer_lost: reason('the answer of a call to the outside was lost', '对外调用的应答丢失'),
  lease_expired_effect_uncertain: reason('the worker vanished and what it did outside is uncertain', '工作进程消失，外部结果不确定', protection),
  effect_unresolvable: reason('an open effect can no longer be resolved automatically', '未决的外部操作已无法自动查明', protection),
  submission_accepted: reason('the other side took the submission', '对方已接收提交'),
  attempt_completed: reason('the attempt completed', '本次尝试已完成'),
  cancel_after_submit: reason('the cancel came after the submission', '取消晚于提交'),
  cancel_after_effect: reason('the cancel came too late: the effect has happened', '取消太晚：效果已经发生', { verdict: 'too_late' }),
  wait_withdrawn: reason('cancelled while it waited in our own inbox', '在自有收件箱等待时被取消', user('prevented')),
  attempt_failed: reason('the attempt failed', '本次尝试失败'),
  retry_scheduled: reason('a further attempt is planned', '已安排再次尝试'),
  attempts_exhausted: reason('every attempt that it may make was used', '允许的尝试次数已用尽', protection),
  not_retryable: reason('this kind of failure is not retried', '此类失败不重试', protection),
  cancelled_at_boundary: reason('stopped at a boundary between side effects', '在副作用边界处停止', user('stopped_at_boundary')),
  cancelled_after_failed_attempt: reason('cancelled after an attempt that failed', '在失败的尝试之后取消', user('stopped_at_boundary')),
  worker_shutdown: reason('the worker shut down and gave the claim back; not charged', '工作进程关闭并交回领取；不计次数'),
  lease_expired: reason('the worker stopped renewing its lease', '工作进程停止续租'),
  lease_expired_effects_settled: reason('the worker vanished after a cancel, with nothing open outside', '取消后工作进程消失，外部无未决操作', user('stopped_at_boundary')),
  // Waiting for the other side
  receipt_received: reason('a receipt says that the other side has it', '回执表明对方已收到'),
  receipt_progress: reason('a receipt says that the other side is working on it', '回执表明对方正在处理'),
  receipt_completed: reason('a receipt says that the other side is done', '回执表明对方已完成'),
  receipt_held: reason('a receipt is kept until what is still open is closed', '回执暂存，待未决项关闭后处理'),
  receipt_failed: reason('a receipt says that the other side failed', '回执表明对方失败'),
  review_rejected: reason('the reviewer decided against it', '审阅者决定不通过', { ended_by: 'user', verdict: 'needs_person' }),
  outcome_late: reason('the answer arrived after the lease was lost', '应答在失去租约后到达'),
  receipt_overdue: reason('no receipt came within the time declared', '在规定时间内未收到回执'),
  effect_uncertain: reason('what happened outside could not be established', '无法确定外部发生了什么', protection),
  review_reminded: reason('nobody has opened the review; a reminder is due', '尚无人打开审阅；需要提醒'),
  cancel_awaits_resolution: reason('the cancel waits until it is known what happened outside', '取消须等待外部结果查明'),
  cancel_recorded: reason('the cancel was recorded on a dead step', '取消已记录在停滞的步骤上', { verdict: 'needs_person' }),
  withdrawal_asked: reason('taking it back was asked', '已要求撤回'),
  withdrawal_confirmed: reason('the other side took it back', '对方已撤回', user('withdrawn')),
  withdrawal_refused: reason('it was not taken back: the other side refused, or could not be asked', '未能撤回：对方拒绝，或无法送达'),
  withdrawal_answer_lost: reason('the answer to the withdrawal was lost', '撤回的应答丢失'),
  wait_abandoned: reason('a person stopped the waiting; it may still happen', '有人停止等待；它仍可能发生', { ended_by: 'user', verdict: 'needs_person' }),
  // Resolving the unconfirmed
  probe_partial: reason('one effect is resolved, another is still open', '一项已查明，另一项仍未决'),
  probe_completed: reason('a look outside found it done', '外部查询发现已完成'),
  probe_found: reason('a look outside found it there', '外部查询发现已存在'),
  resume_after_probe: reason('the effect was found there; the step goes on; not charged', '已找到该效果；步骤继续；不计次数'),
  probe_absent_after_cancel: reason(
    'the cancel came before the retry, and nothing was published: proven absent outside',
    '取消早于重试，且没有发布任何内容：已证明外部不存在',
    user('prevented'),
  ),
  probe_absent: reason('proven absent outside; a further attempt is planned', '已证明外部不存在；已安排再次尝试'),
  probe_inconclusive: reason('a look outside could not tell', '外部查询无法判断'),
  // Acceptance and persons
  proof_accepted: reason('the proof was read back and accepted', '证明已读回并被接受', { ended_by: 'success', verdict: 'too_late' }),
  acceptance_inconclusive: reason('the proof could not be checked yet', '证明暂时无法核对'),
  acceptance_unproven: reason('the proof could never be checked', '证明始终无法核对', protection),
  artifact_missing: reason('the proof does not exist', '证明不存在', protection),
  artifact_not_ours: reason('the proof belongs to something else', '证明不属于本任务', protection),
  artifact_below_minimum: reason('the proof does not meet the minimum', '证明未达到最低要求', protection),
  replayed: reason('a named person replayed it', '由具名人员重新执行'),
  operator_confirmed_effect: reason('a named person confirmed with evidence that it happened', '具名人员以证据确认其已发生', user('stopped_at_boundary')),
  operator_confirmed_absent: reason('a named person confirmed with evidence that it did not happen', '具名人员以证据确认其未发生', user('prevented')),
  manual_correction: reason('the row was changed by hand, outside the door', '该行被手工修改，未经正式入口'),
} as const satisfies Readonly<Record<string, Reason>>;

export type ReasonCode = keyof typeof REASONS;
export const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];
export const reasonOf = (code: ReasonCode): Reason => REASONS[code];

/** Verdicts of receipts. `moves` says whether one with this verdict may move a step. */
export const RECEIPT_VERDICTS = {
  matched: { moves: true, en: 'it answers our request', zh: '它回应了我们的请求' },
  early: { moves: true, en: 'it came before the submission was recorded; applied when that appears', zh: '先于提交记录到达；提交出现后应用' },
  late_after_timeout: { moves: true, en: 'it came after the wait had run out and resolves it', zh: '在等待超时之后到达，并据此查明' },
  duplicate: { moves: false, en: 'the same was said before', zh: '此前已有相同内容' },
  evidence: { moves: false, en: 'it is kept as evidence and moves nothing', zh: '作为证据保存，不移动任何状态' },
  text_only: { moves: false, en: 'a sentence is no proof', zh: '一句话不是证明' },
  after_cancel: { moves: false, en: 'the step had been cancelled', zh: '该步骤已取消' },
  after_end: { moves: false, en: 'the step had ended', zh: '该步骤已结束' },
  wrong_thread: { moves: false, en: 'it names another thread', zh: '它指向另一线程' },
  wrong_message: { moves: false, en: 'it names a message that is not the live one', zh: '它指向的消息不是当前有效的' },
  wrong_step: { moves: false, en: 'it names another step', zh: '它指向另一步骤' },
  wrong_external_id: { moves: false, en: 'it names another external id', zh: '它指向另一外部编号' },
  contradicts: { moves: false, en: 'it contradicts what is established', zh: '它与既定事实矛盾' },
  unknown_task: { moves: false, en: 'no task has this id', zh: '没有此编号的任务' },
  sender_not_allowed: { moves: false, en: 'the sender may not send receipts for this step', zh: '该发送者无权为此步骤发送回执' },
} as const satisfies Readonly<Record<string, { moves: boolean; en: string; zh: string }>>;

export type ReceiptVerdict = keyof typeof RECEIPT_VERDICTS;
export const RECEIPT_KINDS = ['delivered', 'received', 'progress', 'completed', 'failed', 'text'] as const;
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];
