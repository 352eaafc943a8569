import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { Permission } from '../../state/index.ts';
import { operation } from '../operation.ts';
import type { ApiDeps } from '../operation.ts';
import * as s from '../schemas.ts';
import { oneOf } from './tasks.ts';

const TASK_CODES: readonly ErrorCode[] = ['TASK_UNKNOWN', 'TASK_PRUNED', 'STEP_UNKNOWN', 'ID_INVALID', 'TYPE_FORBIDDEN', 'REASON_REQUIRED', 'ID_CONFLICT', 'TRANSITION_REFUSED', 'INPUT_TOO_LARGE'];

const CONFIRM_CODES: readonly ErrorCode[] = ['EFFECT_UNKNOWN', 'EXTERNAL_ID_CONFLICT', 'EVIDENCE_REQUIRED', 'INPUT_NOT_STORABLE', 'RESULT_TOO_LARGE'];

interface ActionSpec<B extends z.ZodType> {
  readonly name: string;
  readonly id: string;
  readonly permission: Permission;
  readonly summary: string;
  readonly body: B;
  readonly answer: z.ZodType;
  readonly codes?: readonly ErrorCode[];
  /** The body with who acts and under which id. */
  readonly act: (task: string, body: z.output<B> & { readonly by: string; readonly id?: string }) => Promise<unknown>;
}

export function actionRoutes(app: FastifyInstance, { client }: ApiDeps): void {
  const action = <B extends z.ZodType<{ by?: string | undefined; id?: string | undefined }>>({ name, id, permission, summary, body: schema, answer, codes = [], act }: ActionSpec<B>): void => {
    operation(app, {
      method: 'POST', url: `/v1/tasks/:task/${name}`, id, tag: 'actions', permission, summary,
      params: s.TaskParams, query: s.NoQuery, headers: s.IdempotencyHeader, body: schema, answers: { 200: answer }, codes: [...TASK_CODES, ...codes],
      async handle({ params: { task }, body, caller, request }) {
        await caller.mayTask(task);
        const actionId = oneOf(request.headers['idempotency-key'], body.id, '/id');
        return act(task, { ...body, by: caller.by(body.by), ...(actionId === undefined ? {} : { id: actionId }) });
      },
    });
  };

  action({
    name: 'cancel', id: 'cancel', permission: 'cancel', summary: "Don't do what isn't done yet", body: s.ActionBody, answer: s.CancelAnswer,
    act: (task, body) => client.cancel(task, body as never),
  });
  action({
    name: 'withdraw', id: 'withdraw', permission: 'withdraw', summary: 'Take back what was submitted; without a step, what each step that can has submitted', body: s.ActionBody, answer: s.CancelAnswer,
    codes: ['WITHDRAW_UNDECLARED'],
    act: (task, body) => client.withdraw(task, body as never),
  });
  action({
    name: 'abandon-wait', id: 'abandonWait', permission: 'abandon_wait', summary: 'Stop waiting for the other side, of one step or of each that waits; it may still happen', body: s.ActionBody, answer: s.CancelAnswer,
    act: (task, body) => client.abandonWait(task, body as never),
  });
  action({
    name: 'confirm-effect', id: 'confirmEffect', permission: 'confirm', summary: 'A person saw outside that it happened', body: s.PresenceBody, answer: s.ConfirmAnswer, codes: CONFIRM_CODES,
    act: (task, body) => client.confirmEffect(task, body as never),
  });
  action({
    name: 'confirm-absent', id: 'confirmAbsent', permission: 'confirm', summary: 'A person saw outside that it did not happen', body: s.AbsenceBody, answer: s.ConfirmAnswer, codes: CONFIRM_CODES,
    act: (task, body) => client.confirmAbsent(task, body as never),
  });
  action({
    name: 'correct', id: 'correct', permission: 'correct', summary: 'Say that an entry of the timeline is wrong, by a further one', body: s.CorrectBody, answer: s.CorrectAnswer, codes: ['ENTRY_UNKNOWN'],
    act: (task, body) => client.correct(task, body as never),
  });
  action({
    name: 'unpark', id: 'unpark', permission: 'unpark', summary: 'Send a parked wake-up again', body: s.UnparkBody, answer: s.UnparkAnswer,
    act: (task, body) => client.unpark(task, body as never),
  });
  action({
    name: 'decide', id: 'decide', permission: 'decide', summary: 'Open a review, approve or reject it', body: s.DecideBody, answer: s.ReceiptAnswer, codes: ['REVIEW_NOT_OPEN'],
    act: (task, body) => client.decide(task, body as never),
  });
  action({
    name: 'replay', id: 'replay', permission: 'replay', summary: 'Bring dead steps back, with a fresh budget', body: s.ReplayBody, answer: s.ReplayAnswer,
    codes: ['REPLAY_NOT_DEAD', 'REPLAY_EFFECT_OPEN', 'REPLAY_CANCEL_SET', 'REPLAY_PROOF_ARRIVED', 'EFFECT_UNKNOWN'],
    act: (task, body) => client.replay(task, body as never),
  });
}
