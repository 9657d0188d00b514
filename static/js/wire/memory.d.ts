// The plan of the arena, and the order of launches.

export interface Buffer {
  buffer: number;
  name: string;
  start: number;
  end: number;
  offset: number;
  size: number;
  values: string[];
}

export interface Handover {
  before: number;
  after: number;
  n_bytes: number;
}

export interface Method {
  name: string;
  words: string;
  source?: string;
}

export interface LaunchOrder {
  method: Method;
  found_by: Method[];
  is_changed: boolean;
  is_taken: boolean;
  is_lowest: boolean;
  given_peak_bytes: number;
  peak_bytes: number;
  given_arena_bytes: number;
  arena_bytes: number;
  given_live_bytes: number[];
  live_bytes: number[];
}

export interface Memory {
  planner: Method | null;
  order: LaunchOrder | null;
  peak_bytes: number;
  lower_bound_bytes: number;
  unshared_bytes: number;
  n_steps: number;
  live_bytes: number[];
  used_bytes: number[];
  fullest_step: number;
  handovers: Handover[];
  buffers: Buffer[];
}
