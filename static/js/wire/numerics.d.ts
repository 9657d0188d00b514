// What checking a compiled model found: errors of stages, of values, and of the program.
export type Mark = "ok" | "steps" | "wrong";

export interface CheckedOutput {
  name: string;
  max_abs_error: number | null;
  scale: number | null;
  relative_error: number | null;
  note: string;
  wide_error: number | null;
  ulps: number | null;
}

export interface CheckedRun {
  mark: Mark;
  objection: string;
  seconds: number;
  relative_error: number | null;
  wide_error: number | null;
  ulps: number | null;
  outputs: CheckedOutput[];
}

export interface CheckedStage extends CheckedRun {
  stage: number;
  name: string;
  changed: boolean;
  has_moved: boolean;
  moved: number | null;
  n_moved: number;
  values_stage: number | null;
}

export interface WrongRewrite {
  stage: number;
  step: number;
  pass_name: string;
  rule: string;
  at: string;
  kind: string;
  objection: string;
  relative_error: number | null;
}

export interface Numerics {
  job: string;
  seed: number;
  yardstick: string;
  note: string;
  tolerance: number;
  allowed: number;
  in_codes: boolean;
  kinds: string[];
  narrow: string[];
  n_narrow: number;
  rows: CheckedStage[];
  program: CheckedRun | null;
  no_program: string;
  first_moved: number | null;
  first_wrong: number | null;
  rewrites: { n_applied: number; n_judged: number; wrong: WrongRewrite[] } | null;
  broken: string;
  check_command: string;
  bisect_command: string;
}

export interface CheckedValue {
  name: string;
  node: string;
  absolute_error: number | null;
  relative_error: number | null;
  ulps: number | null;
  moved: boolean;
  counts: number[];
}

export interface CheckedValues {
  stage: number;
  tolerance: number;
  n_values: number;
  places: number[];
  values: CheckedValue[];
}
