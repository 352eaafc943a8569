/** Actions on one task: each is shown before it is done, is done once, and its refusal is said in words. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { h } from 'preact';
import { z } from 'zod';
import type { ThroughlineError } from '../../errors.ts';
import { changeOf, foresee, rehearse } from '../actions/rehearsal.ts';
import type { Change } from '../actions/rehearsal.ts';
import { effectsOf } from '../actions/offers.ts';
import { ACTIONS } from '../actions/specs.ts';
import type { ActionSpec, Asked } from '../actions/spec.ts';
import { actionAddress, taskAddress } from '../address.ts';
import { byOf, fieldsOf, refusalOf } from '../form.ts';
import { ActionPage } from '../pages/action.tsx';
import type { Said } from '../pages/action.tsx';
import { page } from '../route.ts';
import type { Visit } from '../route.ts';
import { keepSaid } from '../said.ts';
import type { ConsoleOptions, TaskRecord } from '../types.ts';

const text = z.string().default('');
const Fields = z.object({
  id: z.uuid().optional(), who: text, why: text, step: text, effect: text, evidence: text, externalId: text, result: text, entry: text, reason: text, receipt: text, message: text,
  void: z.union([z.string(), z.array(z.string())]).optional(), drop: z.string().optional(), do: z.string().optional(), look: z.string().optional(),
});
type Form = z.output<typeof Fields>;

const taskOf = ({ request }: Visit): string => (request.params as { task?: string }).task ?? '';

/** What the form says, and, of what it leaves open, what there is only one of. */
function askedOf(spec: ActionSpec, form: Form, by: string, record: TaskRecord): Asked {
  const { id = randomUUID(), why, step, evidence, externalId, result, entry, reason, receipt, message } = form;
  const chosen = step !== '' || record.steps.length !== 1 || !spec.fields.includes('step') || spec.name === 'cancel' ? step : (record.steps[0]?.name ?? '');
  const effects = spec.fields.includes('effect') ? effectsOf(record, chosen) : [];
  return {
    id, by, why, step: chosen, effect: form.effect === '' ? (effects[0] ?? '') : form.effect, evidence, externalId, result, entry, reason, receipt, message,
    void: form.void === undefined ? [] : [form.void].flat(), drop: form.drop !== undefined,
  };
}

function saidOf({ cancel, entries, steps }: Change, done: string, nothing: string): Said {
  if (cancel !== null) return { title: cancel.verdict_meaning, lines: [cancel.sentence, ...cancel.steps.flatMap(({ left_outside_sentence: left }) => left ?? [])] };
  const lines = steps.length > 0 ? steps.map(({ to }) => to.sentence) : entries.map(({ sentence }) => sentence);
  return lines.length === 0 ? { title: nothing, lines: [] } : { title: done, lines };
}

export function actionRoutes(app: FastifyInstance, { client }: ConsoleOptions): void {
  /** Throws TYPE_FORBIDDEN before anything is looked at. */
  const inspect = async (visit: Visit) => {
    const { record, explanation: e } = await client.inspect(taskOf(visit), { lang: visit.frame.lang });
    visit.caller.mayType(record.task.type);
    return { record, e };
  };

  for (const spec of ACTIONS) {
    const url = `/tasks/:task/do/${spec.name}`;
    page(app, {
      method: 'GET', url, permission: spec.permission,
      async handle(visit) {
        const form = fieldsOf(Fields, visit.request.query);
        const { record, e } = await inspect(visit);
        const who = form.who === '' ? (visit.request.session.get('who') ?? '') : form.who;
        const asked = askedOf(spec, { ...form, id: undefined }, byOf(visit.caller, who), record);
        return visit.show(h(ActionPage, { spec, record, e, asked, who, foreseen: await rehearse(client, spec, record.task.id, asked, visit.frame.lang) }));
      },
    });
    page(app, {
      method: 'POST', url, permission: spec.permission,
      async handle(visit) {
        const { request, reply, frame: { lang, m } } = visit;
        const form = fieldsOf(Fields, request.body);
        const { record, e } = await inspect(visit);
        const task = record.task.id;
        const asked = askedOf(spec, form, byOf(visit.caller, form.who), record);
        const again = async (status: number, more: { readonly refused?: ThroughlineError; readonly changed?: true } = {}) =>
          visit.show(h(ActionPage, { spec, record, e, asked, who: form.who, foreseen: await rehearse(client, spec, task, asked, lang), ...more }), status);
        const variant = spec.variants.find((one) => one === form.do);
        if (variant === undefined) return again(200);
        if (spec.always !== true) {
          const now = await foresee(client, spec, task, asked, variant, lang);
          const seen = (request.body as Readonly<Record<string, unknown>>)[`seen_${variant}`];
          // What would do something else than what was shown is shown first.
          if (now.refused === null && now.mark !== seen) return again(409, { changed: true });
        }
        try {
          await spec.act(client, task, asked, variant);
        } catch (error) {
          const refused = refusalOf(error);
          return again(refused.status, { refused });
        }
        const { explanation: after } = await client.inspect(task, { lang });
        request.session.set('who', form.who.trim());
        keepSaid(request, task, saidOf(changeOf(e, after, asked.id), m.actions.done, m.actions.nothing_changed));
        return reply.redirect(taskAddress(task), 303);
      },
    });
  }

  // That somebody has opened a review is recorded before it is read.
  page(app, {
    method: 'POST', url: '/tasks/:task/do/open', permission: 'decide',
    async handle(visit) {
      const { step } = fieldsOf(Fields, visit.request.body);
      const { record } = await inspect(visit);
      const task = record.task.id;
      await client.decide(task, { step, verdict: 'opened', by: byOf(visit.caller, visit.request.session.get('who') ?? '') });
      return visit.reply.redirect(actionAddress(task, 'decide', { step }), 303);
    },
  });
}
