import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';

/** A keyword of one of our search attributes. */
export const searchAttribute = (name: string, value: string): SearchAttributePair => ({ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value });
