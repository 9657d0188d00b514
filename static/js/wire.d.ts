// Written by `python -m app.contract` from app/wire/shapes and app/jobs: edit those.
// Every answer and event also has `version: 1`. docs/wire.md has the descriptions.

// A minimal set of rewrites that changes a model's numerical results.
export interface BisectedRewrite {
  pass_name: string; rule: string; at: string; stage: number; step: number; is_wrong_alone: boolean;
}
export interface ReducedModel {
  n_nodes: number; text: string; n_cut: number; opens: boolean; pipeline: string;
  onnx_bytes: number;
}
export interface Bisection {
  job: string; seed: number; moved: number | null; kind: string; detail: string; is_stable: boolean;
  rewrites: BisectedRewrite[]; rules: string[]; passes: string[]; first: BisectedRewrite | null;
  n_before_first: number; n_runs: number; seconds: number; n_nodes: number;
  reduced: ReducedModel | null;
}

// The data of each server-sent event of a job.
export interface QueuedEvent { position: number; }
export interface StartedEvent { }
export interface PhaseEvent { phase: string; words: string; }
export interface ImportedEvent {
  stage: number; name: string; n_nodes: number; n_constants: number;
}
export interface PassEvent {
  stage: number; name: string; seconds: number; changed: boolean; n_nodes: number;
  n_applied: number; n_declined: number;
}
export interface ReadyEvent { part: string; }
export interface RoundEvent { done: number; share: number; }
export interface EndEvent { seconds: number; n_stages: number; error?: Problem; }

// The export of a stage as an ONNX file.
export interface ExportedModel {
  job: string; stage: number; fused: boolean; file: string; bytes: number; opset: number;
  n_nodes: number; n_functions: number; objection: string;
}

// Errors, and facts independent of jobs: server, samples, pipelines, operators, uploads.
export type PassKind = "rules" | "graph" | "analysis";
export interface Where {
  source: string; line: number; column: number; length: number; node: string;
}
export interface Problem {
  code: string; message: string; where: Where; notes: string[]; hint: string; trace_id?: string;
}
export interface Failure { ok: false; error: Problem; }
export interface Limits {
  upload_limit_bytes: number; job_limit_s: number; memory_limit_bytes: number;
  output_limit_bytes: number; queue_limit: number; n_workers: number; drawn_nodes_limit: number;
}
export interface Host { name: string; triple: string; vector_bytes: number; }
export interface About {
  program: string; limits: Limits; versions: Record<string, string>; host: Host;
}
export interface Sample {
  id: string; title: string; words: string; bytes: number; n_nodes: number;
  weights: "trained" | "seeded"; has_labels: boolean; accuracy: number | null;
  shapes: Record<string, number[]>;
}
export interface Samples { samples: Sample[]; }
export interface PassOption {
  name: string; type: string; default: string; choices: string[]; words: string;
}
export interface PassInfo {
  name: string; kind: PassKind; words: string; options: PassOption[]; rules: string[];
  needs: string[]; gives: string[]; example: string; source: string;
}
export interface RuleExample { before: string; after: string; }
export interface RuleInfo {
  name: string; words: string; pattern: string; exact: boolean; error: number; example: RuleExample;
  near_miss: string; source: string;
}
export interface Preset { name: string; words: string; text: string; lines: PresetLine[]; }
export interface PrecisionInfo { name: string; words: string; tolerance: number; }
export interface PresetLine { text: string; because: string; }
export interface Pipelines {
  presets: Preset[]; precisions: PrecisionInfo[]; passes: PassInfo[]; rules: RuleInfo[];
}
export interface PipelineText { text: string; }
export interface CheckedPass { name: string; options: Record<string, string | number>; }
export interface CheckedPipeline { text: string; passes: CheckedPass[]; advice: string[]; }
export interface OperatorInfo {
  name: string; family: string; words: string; signature: string; source: string;
}
export interface Operators { operators: OperatorInfo[]; }
export interface ErrorCode { code: string; meaning: string; hint: string; }
export interface ErrorCodes { errors: ErrorCode[]; }
export interface Upload { id: string; name: string; bytes: number; }

// Jobs, and the summary of their results.
export type KernelPart = "computation" | "schedule" | "loops" | "llvm" | "asm";
export type Bound = "compute" | "L1" | "L2" | "L3" | "DRAM" | "overhead";
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";
export type ModelChoice = SampleChoice | UploadChoice;
export interface SampleChoice { sample: string; }
export interface UploadChoice { upload: string; }
export interface JobOptions {
  target?: string; precision?: string; threads?: number; measure?: boolean; check?: boolean;
  accuracy?: boolean; seed?: number;
}
export interface JobRequest {
  kind: "compile" | "inspect"; model: ModelChoice; pipeline?: string;
  shapes?: Record<string, number[]>; options?: JobOptions; tuned?: string; without?: string[];
}
export interface Job {
  id: string; kind: string; state: JobState; position: number; phase: string; n_stages: number;
  last_event: number; created: number; seconds: number; error: Problem | null;
  request: JobRequest | Asked; model_name: string;
}
export interface Beside { jobs: Job[]; report: string; }
export interface OperatorCount { op: string; count: number; }
export interface Model {
  name: string; source: "sample" | "upload"; id: string; bytes: number; n_nodes: number;
  n_constants: number; n_parameters: number; constant_bytes: number; operators: OperatorCount[];
}
export interface TypedName { name: string; type: string; }
export interface Shape { dims: (number | string)[]; assumed: boolean; }
export interface Timing { phase: string; seconds: number; }
export interface Stage {
  stage: number; name: string; words: string; changed: boolean; graph_stage: number;
  seconds: number; verify_seconds: number; n_nodes: number; n_constants: number;
  constant_bytes: number; value_bytes: number; n_applied: number; n_declined: number;
}
export interface Kernel {
  kernel: number; name: string; op: string; node: string; origins: string[]; inside: number | null;
  region: string; native: boolean; words: string; function: string; flops: number;
  bytes_read: number; bytes_written: number; predicted_s: number | null; bound: Bound | "";
  median_s: number | null; min_s: number | null; low_s: number | null; high_s: number | null;
  gflops: number | null; gbytes_per_s: number | null; parts: KernelPart[]; text_kernel: number;
}
export interface Specialization {
  shapes: Record<string, number[]>; parameters: Record<string, string>; seconds: number;
  because: string;
}
export interface Running {
  n_native: number; n_inside: number; n_fallback: number; n_crossings: number; flops: number;
  native_flops: number; serves_all_sizes: boolean; notes: string[];
  specializations: Specialization[];
}
export interface Buffer {
  buffer: number; name: string; start: number; end: number; offset: number; size: number;
  values: string[];
}
export interface Handover { before: number; after: number; n_bytes: number; }
export interface Method { name: string; words: string; source?: string; }
export interface LaunchOrder {
  method: Method; found_by: Method[]; is_changed: boolean; is_taken: boolean; is_lowest: boolean;
  given_peak_bytes: number; peak_bytes: number; given_arena_bytes: number; arena_bytes: number;
  given_live_bytes: number[]; live_bytes: number[];
}
export interface Memory {
  planner: Method | null; order: LaunchOrder | null; peak_bytes: number; lower_bound_bytes: number;
  unshared_bytes: number; n_steps: number; live_bytes: number[]; used_bytes: number[];
  fullest_step: number; handovers: Handover[]; buffers: Buffer[];
}
export interface Run {
  median_s: number | null; min_s: number | null; low_s: number | null; high_s: number | null;
  repeats: number; threads: number; seed: number; skipped: string;
}
export interface OutputError {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
}
export interface Check { outputs: OutputError[]; seed: number; skipped: string; }
export interface Accuracy {
  n: number; reference: number; compiled: number; n_agree: number; words: string;
}
export interface Result {
  job: string; state: JobState; complete: boolean; error: Problem | null; model: Model;
  inputs: TypedName[]; outputs: TypedName[]; shapes: Record<string, Shape>; pipeline: string;
  options: JobOptions; reproduce: string; versions: Record<string, string>; host: Host;
  timings: Timing[]; result_prefix: string; stages: Stage[]; kernels: Kernel[];
  running: Running | null; memory: Memory | null; run: Run | null; check: Check | null;
  accuracy: Accuracy | null;
}

// Results of checking a compiled model: errors of stages, of values, and of the program.
export type Mark = "ok" | "steps" | "wrong";
export interface CheckedOutput {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
  note: string; wide_error: number | null; ulps: number | null;
}
export interface CheckedRun {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[];
}
export interface CheckedStage {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[]; stage: number;
  name: string; changed: boolean; has_moved: boolean; moved: number | null; n_moved: number;
  values_stage: number | null;
}
export interface WrongRewrite {
  stage: number; step: number; pass_name: string; rule: string; at: string; kind: string;
  objection: string; relative_error: number | null;
}
export interface CheckedRewrites { n_applied: number; n_judged: number; wrong: WrongRewrite[]; }
export interface Numerics {
  job: string; seed: number; yardstick: string; note: string; tolerance: number; allowed: number;
  in_codes: boolean; kinds: string[]; narrow: string[]; n_narrow: number; rows: CheckedStage[];
  program: CheckedRun | null; no_program: string; first_moved: number | null;
  first_wrong: number | null; rewrites: CheckedRewrites | null; broken: string;
  check_command: string; bisect_command: string;
}
export interface CheckedValue {
  name: string; node: string; absolute_error: number | null; relative_error: number | null;
  ulps: number | null; moved: boolean; counts: number[];
}
export interface CheckedValues {
  stage: number; tolerance: number; n_values: number; places: number[]; values: CheckedValue[];
}

// Platforms, schedulers, and their schedules.
export interface PlatformMemory {
  name: string; nbytes: number | null; keeps_weights: boolean; handover_seconds: number;
}
export interface PlatformDevice {
  name: string; memory: string; flops_per_second: number; bytes_per_second: number;
  seconds_per_kernel: number; operators: string[] | null;
}
export interface PlatformLink {
  name: string; joins: string[]; latency_seconds: number; bytes_per_second: number;
  channels: number;
}
export interface Platform {
  name: string; words: string; home: string; memories: PlatformMemory[]; devices: PlatformDevice[];
  links: PlatformLink[];
}
export interface Scheduler { name: string; words: string; source: string; is_quick: boolean; }
export interface Platforms { platforms: Platform[]; schedulers: Scheduler[]; }
export interface PlacementRow {
  scheduler: string; seconds: number; makespan_seconds: number | null; bound_seconds: number | null;
  n_moves: number; moved_bytes: number; problem: Problem | null;
}
export interface Placements {
  job: string; platform: string; ahead: number | null; contention: boolean; n_tasks: number;
  bound_seconds: number; one_device_seconds: number | null; rows: PlacementRow[];
}
export interface PlacedTask {
  task: string; device: string; start: number; end: number; operators: string[]; origins: string[];
  is_critical: boolean;
}
export interface PlacedMove {
  datum: string; link: string; source: string; to: string; start: number; end: number;
  nbytes: number; task: string; is_critical: boolean;
}
export interface Placement {
  scheduler: string; platform: string; makespan_seconds: number; bound_seconds: number;
  ahead: number | null; notes: string[]; peak_bytes: Record<string, number>;
  busy_seconds: Record<string, number>; held_bytes: Record<string, [number, number][]>;
  tasks: PlacedTask[]; moves: PlacedMove[];
}

// The measured time of each kernel of a run, with lower bounds for this machine.
export type Level = "L1" | "L2" | "L3" | "DRAM";
export type Unit = "f32" | "int8" | "bf16" | "int8_tiles" | "bf16_tiles";
export interface Peak { unit: Unit; flops_per_second: number; is_used: boolean; }
export interface MemoryLevel { level: Level; bytes: number | null; bytes_per_second: number; }
export interface Machine {
  name: string; features: string[]; n_processors: number; is_measured: boolean;
  measured: number | null; peaks: Peak[]; levels: MemoryLevel[]; call_s: number;
}
export interface Times { median_s: number; min_s: number; low_s: number; high_s: number; }
export interface RunTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; slow_s: number; repeats: number;
}
export interface KernelTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; kernel: number;
  predicted_s: number | null; roof_s: number | null; bound: Bound | ""; unit: Unit | "";
  flops: number; bytes: number; fits: Level; traffic: Partial<Record<Level, number>>;
  fewer_products: boolean; shares: Record<string, number>;
}
export interface Profile {
  threads: number; seed: number; machine: Machine; run: RunTimes; kernels: KernelTimes[];
}

// Edited schedules.
export type MoveLevel = "stages" | "nest";
export interface MoveParameter { name: string; kind: string; words: string; is_rest: boolean; }
export interface Move {
  name: string; signature: string; words: string; level: MoveLevel; parameters: MoveParameter[];
}
export interface Moves { characters: number; steps: string[]; moves: Move[]; }
export interface ScheduleToCheck { text: string; }
export interface NestAt { nest: string; line: number; loops: string[]; tensors: string[]; }
export interface CheckedSchedule {
  problems: Problem[]; n_moves: number; stages: string[]; nests: NestAt[];
}
export interface ScheduledCode {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
  n_instructions: number; n_spills: number | null; n_bytes: number;
}
export interface ComparedOutput {
  name: string; agrees: boolean; max_abs_error: number; scale: number;
}
export interface CallTime { median_s: number; low_s: number; high_s: number; }
export interface SchedulesInTurns {
  rounds: number; noise: number; ratio: number; low: number; high: number; original: CallTime;
  edited: CallTime;
}
export interface ScheduleVerdict { outputs: ComparedOutput[]; times: SchedulesInTurns | null; }
export interface EditedKernel {
  outputs: ComparedOutput[]; times: SchedulesInTurns | null; job: string; kernel: number;
  name: string; text: string; original: ScheduledCode; edited: ScheduledCode; because: string;
}

// Short links.
export interface LinkRequest { fragment: string; }
export interface SharedLink {
  id: string; path: string; fragment: string; other: JobRequest | null; made_with: string;
  program: string; created: number;
}

// Graphs by stage, steps, texts, the drawing, and provenance.
export type GroupKind = "scope" | "repeat" | "block" | "stretch";
export type DiffMark = " " | "-" | "+" | "…";
export type Verdict = "together" | "apart" | "not neighbours" | "gone";
export type Outcome = "applied" | "declined";
export type StorageKind = "splat" | "seeded" | "literal" | "blob" | "file";
export type Edge = [string, string, number, string];
export type Span = [number, number, string];
export type DiffRow = [DiffMark, number | null, number | null, string];
export interface GraphNode {
  id: string; kind: "node" | "input" | "result"; name: string; op: string; family: string;
  outputs: string[]; types: string[]; inputs: string[]; attrs: Record<string, string>;
  origins: string[]; regions: Record<string, Region>;
}
export interface GraphConstant {
  name: string; type: string; storage: StorageKind; text: string; bytes: number;
  stored_bytes: number; origins: string[]; readers: string[];
}
export interface Region { nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[]; }
export interface Marks { added: string[]; changed: string[]; removed: string[]; }
export interface StageFacts {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string;
}
export interface StageGraph {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string; nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[];
}
export interface StageDelta {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string; against: number; nodes: [number, number, GraphNode[]][];
  edges: [number, number, Edge[]][]; constants: [number, number, GraphConstant[]][];
}
export interface Saved { flops: number; bytes: number; seconds: number; }
export interface Step {
  rule: string; outcome: Outcome; because: string; at: string; took: string[]; made: string[];
  exact: boolean; error: number; source: string; seconds: number; saves: Saved | null;
}
export interface Steps {
  stage: number; n_steps: number; n_dropped: number; offset: number; steps: Step[];
}
export interface CutText { n_lines: number; cut: number; text: string; }
export interface StageText {
  n_lines: number; cut: number; text: string; stage: number; graph_stage: number; spans: Span[];
}
export interface TextDiff { n_added: number; n_removed: number; cut: number; rows: DiffRow[]; }
export interface StageDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; stage: number; against: number;
}
export interface UnionNode {
  key: string; id: string; stages: [number, number][]; group: string; width: number; height: number;
}
export interface UnionGroup {
  key: string; label: string; kind: GroupKind; times: number; group: string; open: boolean;
  width: number; height: number; dot: string;
}
export interface Union {
  dot: string; n_nodes: number; n_drawn: number; collapsed: boolean; nodes: UnionNode[];
  groups: UnionGroup[];
}
export interface ScheduleStep { words: string; outline: string; }
export interface KernelText {
  n_lines: number; cut: number; text: string; kernel: number; part: KernelPart;
  steps: ScheduleStep[];
}
export interface KernelOfJob { job: string; kernel: number; }
export interface KernelDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; part: KernelPart;
  kernel: number; against: KernelOfJob;
}
export interface KernelLinks { kernel: number; llvm: number[]; asm: number[]; }
export interface Chapter {
  stage: number; pass_name: string; rule: string; outcome: Outcome; at: string; because: string;
}
export interface Neighbour {
  maker: string; reader: string; verdict: Verdict; because: string; chapters: Chapter[];
}
export interface Neighbours { edges: Neighbour[]; }
export interface OnnxNode {
  name: string; op: string; nodes: Record<string, string[]>; constants: Record<string, string[]>;
  kernels: number[]; buffers: number[]; functions: string[];
}
export interface Provenance { onnx: OnnxNode[]; }

// A kernel's code for several machines.
export interface InstructionClass { name: string; words: string; }
export interface TargetRow {
  target: string; triple: string; vector_bytes: number; n_vector_registers: number; seconds: number;
  because: string; counts: Record<string, number>; n_instructions: number | null;
  widest_bytes: number | null; n_registers: number | null; n_spills: number | null;
  n_bytes: number | null;
}
export interface Targets {
  job: string; kernel: number; name: string; classes: InstructionClass[]; rows: TargetRow[];
}
export interface TargetLinks { llvm: number[]; asm: number[]; }
export interface KernelLevels {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
}
export interface TargetCode {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
  target: string; kernel: number;
}

// A search for faster schedules.
export type TrialOutcome = "right" | "refused" | "wrong" | "failed";
export type SearchName = "annealing" | "genetic" | "random";
export interface TunedKernel {
  name: string; kernels: number[]; share: number; policy: string; schedule: string;
  untuned_s: number | null; tuned_s: number | null; kept: boolean; because: string;
  why_stopped: string;
}
export interface TuneTrial {
  kernel: number; number: number; outcome: TrialOutcome; words: string; ratio: number | null;
  expected: number | null; best: number; schedule: string;
}
export interface TunedModel {
  untuned_s: number; tuned_s: number; ratio: number | null; low: number | null; high: number | null;
  rounds: number;
}
export interface Tuning {
  job: string; kernel: number | null; search: SearchName; budget_seconds: number;
  searching_seconds: number; kernels: TunedKernel[]; trials: TuneTrial[]; model?: TunedModel | null;
}

// Written models.
export type Language = "ir" | "py";
export interface TextToCheck { language: Language; text: string; }
export interface TextLine { line: number; name: string; type: string; }
export interface CheckedText {
  problems: Problem[]; lines: TextLine[]; n_nodes: number | null; ir: string;
}
export interface ConstantMaker { name: string; signature: string; words: string; }
export interface TextExample { name: string; language: Language; words: string; text: string; }
export interface Writing {
  languages: string[]; characters: number; makers: ConstantMaker[]; examples: TextExample[];
}

// Requests of jobs about another job's result, and their bodies.
export type Asked = PlaceRequest | CheckRequest | BisectRequest | ProfileRequest | TargetsRequest | TuneRequest | ScheduleRequest | ExportRequest;
export interface PlaceRequest {
  kind: "place"; job: string; platform: string; scheduler: string; ahead: number | null;
  contention: boolean;
}
export interface CheckRequest { kind: "check"; job: string; seed: number; }
export interface BisectRequest { kind: "bisect"; job: string; seed: number; moved: number | null; }
export interface ProfileRequest { kind: "profile"; job: string; seconds: number; machine: boolean; }
export interface TargetsRequest { kind: "targets"; job: string; kernel: number; }
export interface TuneRequest {
  kind: "tune"; job: string; budget_seconds: number; search: SearchName; kernel: number | null;
  seed: number;
}
export interface ScheduleRequest { kind: "schedule"; job: string; kernel: number; text: string; }
export interface ExportRequest { kind: "export"; job: string; stage: number; fused: boolean; }
export interface PlaceOptions {
  platform: string; scheduler?: string; ahead?: number | null; contention?: boolean;
}
export interface CheckOptions { seed?: number; }
export interface BisectOptions { seed?: number; moved?: number | null; }
export interface ProfileOptions { seconds?: number; machine?: boolean; }
export interface TargetOptions { kernel: number; }
export interface TuneOptions {
  budget_seconds?: number; search?: SearchName; kernel?: number | null; seed?: number;
}
export interface ScheduleOptions { kernel: number; text: string; }
export interface ExportOptions { fused?: boolean; }
