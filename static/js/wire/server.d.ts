// What the server knows without a job: itself, samples, passes, operators, uploads.

export interface Problem {
  code: string;
  message: string;
  where?: { source: string; line: number; column: number; length: number; node: string };
  notes?: string[];
  hint?: string;
  trace_id?: string;
}

export interface About {
  program: string;
  limits: {
    upload_limit_bytes: number;
    job_limit_s: number;
    drawn_nodes_limit: number;
    [name: string]: number;
  };
  versions: Record<string, string>;
  host: Host;
}

export interface Host {
  name: string;
  triple: string;
  vector_bytes: number;
}

export interface Sample {
  id: string;
  title: string;
  words: string;
  bytes: number;
  weights: string;
  has_labels: boolean;
  accuracy: number | null;
  shapes: Record<string, number[]>;
  n_nodes?: number | null;
}

export interface Preset {
  name: string;
  words: string;
  text: string;
  lines?: { text: string; because: string }[];
}

export interface PassOption {
  name: string;
  type: string;
  default: string;
  choices: string[];
  words: string;
}

export interface PassInfo {
  name: string;
  kind: string;
  words: string;
  options: PassOption[];
  rules: string[];
}

export interface RuleInfo {
  name: string;
  words: string;
  exact: boolean;
  pattern?: string;
  source?: string;
  example: { before: string; after: string } | null;
  near_miss: string;
}

export interface PrecisionInfo {
  name: string;
  words: string;
  tolerance: number;
}

export interface Pipelines {
  presets: Preset[];
  precisions: PrecisionInfo[];
  passes: PassInfo[];
  rules: RuleInfo[];
}

export interface OperatorInfo {
  name: string;
  family: string;
  words: string;
  signature: string;
}

export interface Upload {
  id: string;
  name: string;
  bytes: number;
}
