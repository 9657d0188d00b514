// The smallest set of rewrites that moves the numbers of a model.

export interface BisectOptions {
  /** Part of a result's scale; null for what is wrong beyond rounding. */
  moved: number | null;
}

export interface BisectedRewrite {
  pass_name: string;
  rule: string;
  at: string;
  stage: number;
  step: number;
  is_wrong_alone: boolean;
}

export interface Bisection {
  kind: string;
  detail: string;
  is_stable: boolean;
  rewrites: BisectedRewrite[];
  rules: string[];
  passes: string[];
  first: BisectedRewrite | null;
  n_before_first: number;
  n_runs: number;
  seconds: number;
  n_nodes: number;
  reduced: {
    n_nodes: number;
    text: string;
    n_cut: number;
    opens: boolean;
    pipeline: string;
    onnx_bytes: number;
  } | null;
}
