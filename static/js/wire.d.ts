// The payloads of the server, as docs/wire.md describes them.

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

export interface JobRequest {
  kind: "compile" | "inspect";
  model: { sample: string } | { upload: string };
  pipeline?: string;
  shapes?: Record<string, number[]>;
  options?: Record<string, unknown>;
}
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";
export interface Job {
  id: string;
  kind: string;
  state: JobState;
  position: number;
  phase: string;
  n_stages: number;
  error: Problem | null;
  request: JobRequest;
  model_name: string;
  seconds: number;
}

export interface Stage {
  stage: number;
  name: string;
  words: string;
  changed: boolean;
  graph_stage: number;
  seconds: number;
  verify_seconds: number;
  n_nodes: number;
  n_constants: number;
  constant_bytes: number;
  value_bytes: number;
  n_applied: number;
  n_declined: number;
}
export type KernelPart = "computation" | "schedule" | "loops" | "llvm" | "asm";
export interface Kernel {
  kernel: number;
  name: string;
  op: string;
  node: string;
  origins: string[];
  inside: number | null;
  region: string;
  native: boolean;
  words: string;
  function: string;
  flops: number;
  bytes_read: number;
  bytes_written: number;
  predicted_s: number | null;
  bound: "" | "compute" | "L1" | "L2" | "L3" | "DRAM" | "overhead";
  median_s: number | null;
  min_s: number | null;
  gflops: number | null;
  gbytes_per_s: number | null;
  parts: KernelPart[];
}
export interface Specialization {
  shapes: Record<string, number[]>;
  parameters: Record<string, string>;
  seconds: number;
  because: string;
}
export interface Running {
  n_native: number;
  n_inside: number;
  n_fallback: number;
  n_crossings: number;
  flops: number;
  native_flops: number;
  serves_all_sizes: boolean;
  notes: string[];
  specializations: Specialization[];
}
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
  n_steps: number;
  live_bytes: number[];
  used_bytes: number[];
  fullest_step: number;
  handovers: Handover[];
  buffers: Buffer[];
}
export interface Result {
  job: string;
  state: JobState;
  complete: boolean;
  error: Problem | null;
  model: {
    name: string;
    source: string;
    id: string;
    bytes: number;
    opset: Record<string, number>;
    producer: string;
    n_nodes: number;
    n_constants: number;
    n_parameters: number;
    constant_bytes: number;
    operators: { op: string; count: number }[];
  };
  inputs: { name: string; type: string }[];
  outputs: { name: string; type: string }[];
  shapes: Record<string, { dims: number[]; assumed: boolean }>;
  pipeline: string;
  options: Record<string, unknown>;
  reproduce: string;
  versions: Record<string, string>;
  host: Host;
  timings: { phase: string; seconds: number }[];
  result_prefix: string;
  stages: Stage[];
  kernels: Kernel[];
  running: Running | null;
  memory: Memory | null;
  run: {
    median_s: number | null;
    min_s: number | null;
    low_s: number | null;
    high_s: number | null;
    repeats: number;
    threads: number;
    seed: number;
    skipped: string;
  } | null;
  check: {
    outputs: {
      name: string;
      max_abs_error: number | null;
      scale: number | null;
      relative_error: number | null;
    }[];
    seed: number;
    skipped: string;
  } | null;
  accuracy: {
    n: number;
    reference: number;
    compiled: number;
    n_agree: number;
    words: string;
  } | null;
}

export type Mark = "" | "added" | "changed";
export interface GraphNode {
  id: string;
  kind: "input" | "node" | "result";
  name: string;
  op: string;
  family: string;
  outputs: string[];
  types: string[];
  inputs: string[];
  attrs: Record<string, string>;
  origins: string[];
  mark?: Mark;
  regions: Record<string, Region>;
}
export type Edge = [from: string, to: string, operand: number, value: string];
export interface GraphConstant {
  name: string;
  type: string;
  storage: string;
  text: string;
  bytes: number;
  stored_bytes: number;
  origins: string[];
  readers: string[];
  mark?: Mark;
}
export interface Region {
  nodes: GraphNode[];
  edges: Edge[];
  constants: GraphConstant[];
}
export interface StageGraph extends Region {
  stage: number;
  graph_stage: number;
  name: string;
  removed: string[];
  removed_constants: string[];
}

export interface Step {
  rule: string;
  outcome: "applied" | "declined";
  because: string;
  at: string;
  took: string[];
  made: string[];
  exact: boolean;
  error: number;
  source: string;
  seconds: number;
  saves: { flops: number; bytes: number; seconds: number } | null;
}
export interface Steps {
  stage: number;
  n_steps: number;
  offset: number;
  steps: Step[];
}
export interface StageText {
  stage: number;
  graph_stage: number;
  n_lines: number;
  cut: number;
  text: string;
  spans: [number, number, string][];
}
export type DiffRow = [
  mark: " " | "-" | "+" | "…",
  before: number | null,
  after: number | null,
  text: string,
];
export interface StageDiff {
  stage: number;
  against: number;
  n_added: number;
  n_removed: number;
  cut: number;
  rows: DiffRow[];
}
export interface ScheduleStep {
  words: string;
  outline: string;
}
export interface KernelText {
  kernel: number;
  part: KernelPart;
  text: string;
  n_lines: number;
  cut: number;
  steps: ScheduleStep[];
}

/** Line of the level above for each line, from 0; -1: none; empty: not known. */
export interface KernelLinks {
  kernel: number;
  llvm: number[];
  asm: number[];
}

export interface Chapter {
  stage: number;
  pass_name: string;
  rule: string;
  outcome: "applied" | "declined";
  at: string;
  because: string;
}
export interface Neighbour {
  maker: string;
  reader: string;
  verdict: "together" | "apart" | "not neighbours" | "gone";
  because: string;
  chapters: Chapter[];
}
export interface Neighbours {
  edges: Neighbour[];
}

export interface Union {
  dot: string;
  n_nodes: number;
  n_drawn: number;
  collapsed: boolean;
  nodes: { key: string; id: string; stages: [number, number][]; width: number; height: number }[];
  groups: { key: string; label: string; members: string[]; width: number; height: number }[];
}
export interface OnnxNode {
  name: string;
  op: string;
  nodes: Record<string, string[]>;
  kernels: number[];
  buffers: number[];
  functions: string[];
}
export interface Provenance {
  onnx: OnnxNode[];
}

export interface PassEvent {
  stage: number;
  name: string;
  seconds: number;
  changed: boolean;
  n_nodes: number;
  n_applied: number;
  n_declined: number;
}

export interface Platform {
  name: string;
  words: string;
  home: string;
  memories: {
    name: string;
    nbytes: number | null;
    keeps_weights: boolean;
    handover_seconds: number;
  }[];
  devices: {
    name: string;
    memory: string;
    flops_per_second: number;
    bytes_per_second: number;
    seconds_per_kernel: number;
    operators: string[] | null;
  }[];
  links: {
    name: string;
    joins: string[];
    latency_seconds: number;
    bytes_per_second: number;
    channels: number;
  }[];
}
export interface Scheduler {
  name: string;
  words: string;
  source: string;
  is_quick: boolean;
}
export interface Platforms {
  platforms: Platform[];
  schedulers: Scheduler[];
}
export interface PlaceOptions {
  platform: string;
  scheduler: string;
  ahead: number | null;
}
export interface PlacementRow {
  scheduler: string;
  seconds: number;
  makespan_seconds: number | null;
  bound_seconds: number | null;
  n_moves: number;
  moved_bytes: number;
  problem: Problem | null;
}
export interface Placements {
  job: string;
  platform: string;
  n_tasks: number;
  bound_seconds: number;
  one_device_seconds: number | null;
  rows: PlacementRow[];
}
export interface Placement {
  scheduler: string;
  platform: string;
  makespan_seconds: number;
  bound_seconds: number;
  notes: string[];
  peak_bytes: Record<string, number>;
  busy_seconds: Record<string, number>;
  held_bytes: Record<string, [number, number][]>;
  tasks: {
    task: string;
    device: string;
    start: number;
    end: number;
    operators: string[];
    origins: string[];
    is_critical: boolean;
  }[];
  moves: {
    datum: string;
    link: string;
    source: string;
    to: string;
    start: number;
    end: number;
    nbytes: number;
    task: string;
    is_critical: boolean;
  }[];
}
