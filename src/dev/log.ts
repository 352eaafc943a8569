/** A line for the person who waits: progress and places, never secrets. */
export type Log = (line: string) => void;
