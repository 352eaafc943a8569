/** Names that both sides of Temporal use; imports nothing, so that clients may read it too. */

/** Workflow type, and the prefix of its ids: `task/<task id>`. */
export const TASK_WORKFLOW = 'task';
export const workflowIdOf = (task: string): string => `${TASK_WORKFLOW}/${task}`;

export const searchAttributeNames = { type: 'ThroughlineType', state: 'ThroughlineState', reason: 'ThroughlineReason' } as const;
