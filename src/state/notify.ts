/** What a webhook may be told. A closed list; events only ever get added. */
export const NOTIFY_EVENTS = {
  'task.succeeded': { en: 'a task succeeded, with its proof', zh: '任务成功且有证明' },
  'task.dead': { en: 'a task came to rest and needs a person', zh: '任务停止，需要人工处理' },
  'task.cancelled': { en: 'a task was cancelled', zh: '任务已取消' },
  'step.dead': { en: 'a step is dead; others of its task may still run', zh: '步骤失效，任务的其他步骤可能仍在运行' },
  'step.unconfirmed': { en: 'a step has been unconfirmed for long', zh: '步骤长时间未确认' },
  'review.unopened': { en: 'nobody has opened a review', zh: '评审无人打开' },
  'review.undecided': { en: 'a review was opened and nobody has decided it', zh: '评审已打开但无人决定' },
  'review.escalated': { en: 'a review was reminded of three times or more', zh: '评审已提醒三次或以上' },
  'wakeup.parked': { en: 'a wake-up cannot be handed over and waits for a person', zh: '唤醒无法送达，等待人工处理' },
  'notification.parked': { en: 'a notification to another webhook cannot be delivered and waits for a person', zh: '发往其他 webhook 的通知无法送达，等待人工处理' },
  'driver.failing': { en: 'the driver of a task fails again and again', zh: '任务的驱动一再失败' },
} as const satisfies Readonly<Record<string, { en: string; zh: string }>>;

export type NotifyEvent = keyof typeof NOTIFY_EVENTS;
export const NOTIFY_EVENT_NAMES = Object.keys(NOTIFY_EVENTS) as readonly NotifyEvent[];
/** Sent on request alone, to one webhook. */
export const TEST_EVENT = 'webhook.test';

export const NOTIFICATION_STATUSES = ['pending', 'sent', 'parked', 'dropped'] as const;
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];
