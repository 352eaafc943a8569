/** 控制台自身的全部用语；关于任务的句子来自 `explain`。 */
import type { Messages } from './en.ts';
import { ERRORS_ZH } from './errors-zh.ts';

export const ZH: Messages = {
  language: '简体中文',
  brand: 'Throughline',
  skip: '跳到正文',
  nav: { label: '页面', overview: '总览', tasks: '任务' },
  account: { label: '账户', language: '语言', sign_out: '退出', role: '角色' },
  roles: { caller: '调用方', reviewer: '审阅者', operator: '运维', platform: '平台', reader: '只读', admin: '管理员' },
  as_of: '截至',
  utc: 'UTC',
  none: '无',
  now: '现在',
  yes: '是',
  no: '否',
  unknown: '未知',
  sign_in: {
    title: '登录',
    lead: '它现在在哪里？还会再执行吗？取消生效了吗？什么触及了外部？“已成功”是真的吗？',
    token: 'API 令牌',
    hint: '由 “throughline tokens create 名称 --role 角色” 创建。它在此浏览器中密封保存 12 小时，任何脚本都读不到。',
    submit: '登录',
    refused: '此令牌未知、已过期或已被吊销。',
    role: '此令牌的角色不能读取任务。',
    again: '正在前往页面',
  },
  problem: { title: '未能完成', at: '位置', limit: '上限', request: '请求', back: '所有任务', sign_in: '重新登录' },
  tasks: {
    title: '任务',
    filter: '筛选',
    state: '状态', any_state: '任意状态', type: '类型', any_type: '任意类型', reason: '原因', any_reason: '任意原因',
    from: '接受时间从', to: '到', zone: '时间为 UTC',
    text: '标识、键或主体', text_hint: '其开头',
    apply: '显示', clear: '清除',
    task: '任务', state_column: '状态', reason_column: '原因', step: '步骤', next: '下一次', since: '始于', accepted: '接受于',
    no_key: '无键', nothing: '没有符合此筛选的任务。', none_yet: '还没有任务。',
    older: '更早', newest: '最新', shown: (n) => `显示 ${String(n)} 项`,
  },
  receipt_verdicts: {
    matched: '匹配', evidence: '证据', early: '提前到达', late_after_timeout: '超时后到达', duplicate: '重复', text_only: '仅文字', after_cancel: '取消之后', after_end: '结束之后', wrong_thread: '会话不符',
    wrong_message: '消息不符', wrong_step: '步骤不符', wrong_external_id: '外部标识不符', contradicts: '相互矛盾', unknown_task: '任务未知', sender_not_allowed: '发送方不被允许',
  },
  errors: ERRORS_ZH,
};
