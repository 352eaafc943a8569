/**
 * What the audit looks for: the codes of 96-audit.sql. Stable for ever, only added to (a test guards the list).
 * `broken`: rows that no history through the door can leave behind. `late`: right, but nobody has seen to it in time.
 */
export interface AuditCheck {
  readonly kind: 'broken' | 'late';
  readonly en: string;
  readonly zh: string;
}

const broken = (en: string, zh: string): AuditCheck => ({ kind: 'broken', en, zh });
const late = (en: string, zh: string): AuditCheck => ({ kind: 'late', en, zh });

export const AUDIT_CHECKS = {
  // The timeline
  chain_broken: broken('a transition does not start where the one before it ended', '某个转换的起点不是前一个转换的终点'),
  task_chain_broken: broken("the task's own entries do not follow each other, or its status is not the last one's", '任务自身的条目不连续，或其状态与最后一条不符'),
  rule_unknown: broken('a transition is no edge of the rule table', '某个转换不是规则表中的边'),
  epoch_disordered: broken('an epoch is smaller than the one before it', '纪元小于前一个纪元'),
  moved_after_cancel: broken('a step entered queued or leased after its cancel was set', '取消已设置后，步骤仍进入了 queued 或 leased'),
  intent_after_cancel: broken('a request was announced after the cancel had been answered', '取消已答复之后仍写入了发送意图'),
  cancel_out_of_order: broken('requests and cancels do not stand in the order of their times', '发送意图与取消的次序和时间不符'),
  replay_unattributed: broken('a step was replayed, and nobody is on record for it', '步骤被重新执行，却没有记录由谁执行'),
  person_unattributed: broken("a person's decision has no reason on record", '人的决定没有记录原因'),
  correction_dangling: broken('a correction points at no earlier entry of its task', '更正没有指向该任务的较早条目'),
  entry_orphaned: broken('an entry belongs to no task, or to no step of it', '条目不属于任何任务或其步骤'),
  // Tasks
  status_contradicts_steps: broken('status, rest or end of the task do not follow from its steps', '任务的状态、静止或结束时间与其步骤不符'),
  step_contradicts_plan: broken('a step differs from the plan of its type and version, or one of the two is missing', '步骤与其类型版本的计划不符，或两者缺一'),
  dedupe_missing: broken("the task's key is not reserved for it", '任务的键没有为其保留'),
  replay_not_done: broken('a replay says that it replayed a step, and the timeline does not', '重新执行的记录与时间线不符'),
  // Steps
  state_without_transition: broken('the state is not the one that the last transition left', '状态不是最后一个转换所留下的'),
  epoch_contradicts_timeline: broken("the step's epoch is not its last transition's", '步骤的纪元与其最后一个转换不符'),
  attempts_miscounted: broken('attempts, claims and their epochs are not one for one', '尝试、领取与纪元不是一一对应'),
  charges_miscounted: broken('the charged attempts are not those that count, or more than allowed', '计入的尝试次数不符，或超过上限'),
  lease_contradicts_state: broken('a held state without a holder, or a holder without one', '持有状态没有持有者，或反之'),
  cancel_lost: broken('a cancel was set, and the step does not know of it', '取消已设置，步骤却没有记录'),
  open_miscounted: broken('the count of open requests is not that of the requests', '未决请求数与请求记录不符'),
  open_at_rest: broken('a request is open in a state that excludes it', '该状态下不应有未决的请求'),
  submission_ignored: broken('waiting, queued or cancelled, although the submission stands confirmed', '提交已确认，步骤却是 waiting、queued 或 cancelled'),
  inbox_after_cancel: broken('a review still waits although it was cancelled', '审核已取消，却仍在等待'),
  success_unproven: broken('succeeded without completion, accepted proof or its evidence', '成功却缺少完成、被接受的证明或其证据'),
  dependent_contradicts_needs: broken('a step waits that need not, or went on before what it needs', '步骤不必等待却在等待，或先于其依赖而行'),
  checkpoint_orphaned: broken('a checkpoint of an attempt that nobody made', '检查点所属的尝试不存在'),
  artifact_orphaned: broken('an artifact of an attempt or task that is not there', '产物所属的尝试或任务不存在'),
  acceptance_orphaned: broken('an acceptance check that was never due', '从未到期的验收检查'),
  // Effects
  generations_disordered: broken('generations of an effect with a gap, two live ones, or an older one live', '效果的代次有缺口、有两个有效代次，或有效的不是最新的'),
  generation_ended_unproven: broken('a generation ended without proof that it left nothing outside', '代次结束，却没有证明外部未留下结果'),
  key_wrong: broken('the idempotency key or thread is not that of its generation', '幂等键或会话标识不属于其代次'),
  effect_contradicts_requests: broken('an effect is open without an open request, or closed with one', '效果与其请求的未决状态不符'),
  submitted_twice: broken('two submissions of one step stand confirmed', '同一步骤有两个已确认的提交'),
  intent_after_submission: broken('a request was announced after the submission was confirmed', '提交确认之后仍写入了发送意图'),
  request_misplaced: broken('a request belongs to another step than its effect, or to no attempt', '请求与其效果不属同一步骤，或不属任何尝试'),
  request_without_intent: broken('a request that was not announced in the timeline', '时间线中没有该请求的意图'),
  intent_without_request: broken('an announced request is missing', '已写入意图的请求缺失'),
  // Receipts
  receipt_unjudged: broken('a stored receipt could not be judged', '已保存的回执未能判定'),
  receipt_misapplied: broken('a receipt moved a step by a verdict that may not, or matched nothing', '回执以无权推动的结论推动了步骤，或未匹配任何请求'),
  receipt_cross_matched: broken('a receipt was matched with a request that it does not answer', '回执被匹配到并非其所答的请求'),
  receipt_applied_twice: broken('one receipt moved its step twice', '同一回执推动了步骤两次'),
  receipt_contradicts_timeline: broken("a receipt's verdict is not the one that the timeline tells", '回执的结论与时间线不符'),
  // Cancels
  verdict_contradicts_state: broken("a cancel's verdict does not fit the state of its step", '取消的结论与步骤状态不符'),
  cancel_unrecorded: broken('a cancel without its entry, or without an answer for any step', '取消没有条目，或没有任何步骤的答复'),
  // Late
  cancel_overdue: late('a cancel has been pending for longer than its deadline', '取消的结论超过期限仍未给出'),
  lease_overdue: late('a lease ran out, and nobody has rescued the step', '租约已到期，步骤却无人救回'),
  driver_overdue: late('something is due, no wake-up is on its way and no driver has asked since', '有事到期，却没有唤醒在途，驱动也未询问'),
} as const satisfies Readonly<Record<string, AuditCheck>>;

export type AuditCode = keyof typeof AUDIT_CHECKS;
