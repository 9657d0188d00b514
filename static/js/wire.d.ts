// Written by `python -m app.wire.contract` from app/wire/shapes and app/jobs: edit those.
// Every answer and event has `version: 1` besides.

// The smallest set of rewrites that moves the numbers of a model.
/** A rewrite of the set; `stage` and `step` are where the compilation did it, -1 for nowhere. */
export interface BisectedRewrite {
  pass_name: string; rule: string; at: string; stage: number; step: number; is_wrong_alone: boolean;
}
/** A small model that shows the same; `opens` when its text alone is the model. `onnx_bytes` is 0
 * where it has no form in ONNX; `n_cut` counts lines that were left out. */
export interface ReducedModel {
  n_nodes: number; text: string; n_cut: number; opens: boolean; pipeline: string;
  onnx_bytes: number;
}
/** What was found: `kind` is "" when nothing is wrong, or moves. `first` is the rewrite with which
 * it begins in the order of the pipeline, `passes` those that do it without any rewrite, `n_nodes`
 * the size of the model before it was reduced. */
export interface Bisection {
  job: string; seed: number; moved: number | null; kind: string; detail: string; is_stable: boolean;
  rewrites: BisectedRewrite[]; rules: string[]; passes: string[]; first: BisectedRewrite | null;
  n_before_first: number; n_runs: number; seconds: number; n_nodes: number;
  reduced: ReducedModel | null;
}

// Server-sent events of a job: the data of each. Order: `queued` (again when the position changes),
// `started`, then the others as they happen, and one of `finished`, `failed` and `cancelled`.
/** The job waits; `position` counts from 1 at the front. */
export interface QueuedEvent { position: number; }
/** A child took the job. */
export interface StartedEvent { }
/** A phase began. */
export interface PhaseEvent { phase: string; words: string; }
/** Stage 0 can be read. */
export interface ImportedEvent {
  stage: number; name: string; n_nodes: number; n_constants: number;
}
/** A pass ended, and its stage can be read. */
export interface PassEvent {
  stage: number; name: string; seconds: number; changed: boolean; n_nodes: number;
  n_applied: number; n_declined: number;
}
/** A part of the result can be read, long before the job is over. Of a compilation: `code`
 * (kernels, memory, provenance, all texts but assembly), `measure` (seconds of kernels and `run`),
 * `listing` (assembly), `check`, `accuracy`, `links` (links of kernels, neighbours). */
export interface ReadyEvent { part: string; }
/** A job that measures has timed so many rounds, this share of its time. */
export interface RoundEvent { done: number; share: number; }
/** The job is over; `error` says why it failed. */
export interface EndEvent { seconds: number; n_stages: number; error?: Problem; }

// A stage as an ONNX file.
/** What was written; `objection` is what onnx's checker says against it, "" for nothing. `file` is
 * its name. A function of the model is a fusion, where fusions are written as such. */
export interface ExportedModel {
  job: string; stage: number; fused: boolean; file: string; bytes: number; opset: number;
  n_nodes: number; n_functions: number; objection: string;
}

// Errors, and what does not depend on a job: server, samples, pipelines, operators, uploads.
export type PassKind = "rules" | "graph" | "analysis";
/** A place in something the user gave; 0 and "" mean unknown. */
export interface Where {
  source: string; line: number; column: number; length: number; node: string;
}
/** What was needed and found, where, and what to do about it. */
export interface Problem {
  code: string; message: string; where: Where; notes: string[]; hint: string; trace_id?: string;
}
/** The one shape of an error answer. */
export interface Failure { ok: false; error: Problem; }
/** What users meet. Units in the names. */
export interface Limits {
  upload_limit_bytes: number; job_limit_s: number; memory_limit_bytes: number;
  output_limit_bytes: number; queue_limit: number; n_workers: number; drawn_nodes_limit: number;
}
/** The machine that programs run on. */
export interface Host { name: string; triple: string; vector_bytes: number; }
/** Facts about the server. */
export interface About {
  program: string; limits: Limits; versions: Record<string, string>; host: Host;
}
/** A model that ships. `shapes` suggests dims that the model leaves open. */
export interface Sample {
  id: string; title: string; words: string; bytes: number; n_nodes: number;
  weights: "trained" | "seeded"; has_labels: boolean; accuracy: number | null;
  shapes: Record<string, number[]>;
}
/** All sample models. */
export interface Samples { samples: Sample[]; }
/** An option of a pass: its default as written in a pipeline, and in words what it takes. */
export interface PassOption {
  name: string; type: string; default: string; choices: string[]; words: string;
}
/** A pass that pipelines may name. */
export interface PassInfo {
  name: string; kind: PassKind; words: string; options: PassOption[]; rules: string[];
  needs: string[]; gives: string[]; example: string; source: string;
}
/** A rule at work: two graphs as text. */
export interface RuleExample { before: string; after: string; }
/** A rewrite rule; `exact` is false when results may round differently. `near_miss` is a graph that
 * looks like the pattern and stays as it is; `error` the budget of a rule that is not exact,
 * relative to the scale of results. */
export interface RuleInfo {
  name: string; words: string; pattern: string; exact: boolean; error: number; example: RuleExample;
  near_miss: string; source: string;
}
/** A pipeline with a name; `lines` gives the reason for each pass. */
export interface Preset { name: string; words: string; text: string; lines: PresetLine[]; }
/** A precision mode: what it promises, and the error of a whole model, relative to its scale. */
export interface PrecisionInfo { name: string; words: string; tolerance: number; }
/** One pass of a preset and why it stands there. */
export interface PresetLine { text: string; because: string; }
/** Presets, passes and rules. */
export interface Pipelines {
  presets: Preset[]; precisions: PrecisionInfo[]; passes: PassInfo[]; rules: RuleInfo[];
}
/** A pipeline as text, to be checked. */
export interface PipelineText { text: string; }
/** A pass with all its options. */
export interface CheckedPass { name: string; options: Record<string, string | number>; }
/** A pipeline in its normal form; `advice` says where another order would find more to do. */
export interface CheckedPipeline { text: string; passes: CheckedPass[]; advice: string[]; }
/** An operator's words for the page. */
export interface OperatorInfo {
  name: string; family: string; words: string; signature: string; source: string;
}
/** All operators that have a declaration. */
export interface Operators { operators: OperatorInfo[]; }
/** A row of the table of error codes. */
export interface ErrorCode { code: string; meaning: string; hint: string; }
/** The table of error codes. */
export interface ErrorCodes { errors: ErrorCode[]; }
/** What is known of an upload before a job reads it. */
export interface Upload { id: string; name: string; bytes: number; }

// Jobs, and the summary of their results.
export type KernelPart = "computation" | "schedule" | "loops" | "llvm" | "asm";
export type Bound = "compute" | "L1" | "L2" | "L3" | "DRAM" | "overhead";
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";
export type ModelChoice = SampleChoice | UploadChoice;
/** A model that ships. */
export interface SampleChoice { sample: string; }
/** A model that was uploaded. */
export interface UploadChoice { upload: string; }
/** What a job does besides compiling. */
export interface JobOptions {
  target?: string; precision?: string; threads?: number; measure?: boolean; check?: boolean;
  accuracy?: boolean; seed?: number;
}
/** What a new job is to do; `pipeline` is a preset's name or a pipeline's text. `tuned` is the
 * tuning job whose schedules are used, "" for none; `without` has rules whose rewrites are not
 * done. */
export interface JobRequest {
  kind: "compile" | "inspect"; model: ModelChoice; pipeline?: string;
  shapes?: Record<string, number[]>; options?: JobOptions; tuned?: string; without?: string[];
}
/** Where a job stands. */
export interface Job {
  id: string; kind: string; state: JobState; position: number; phase: string; n_stages: number;
  last_event: number; created: number; seconds: number; error: Problem | null;
  request: JobRequest | Asked; model_name: string;
}
/** Finished jobs about the result of another one that are still kept, the newest first. `report` is
 * the command line that writes a report with all of it; "" when there is none. */
export interface Beside { jobs: Job[]; report: string; }
/** How many nodes of an operator. */
export interface OperatorCount { op: string; count: number; }
/** Facts about a model as it was read. */
export interface Model {
  name: string; source: "sample" | "upload"; id: string; bytes: number; n_nodes: number;
  n_constants: number; n_parameters: number; constant_bytes: number; operators: OperatorCount[];
}
/** A value's name and type as text. */
export interface TypedName { name: string; type: string; }
/** The shape an input is compiled for; `assumed` when neither model nor user gave it. */
export interface Shape { dims: (number | string)[]; assumed: boolean; }
/** How long a phase took. */
export interface Timing { phase: string; seconds: number; }
/** The graph after a pass; stage 0 is the graph as it was read. */
export interface Stage {
  stage: number; name: string; words: string; changed: boolean; graph_stage: number;
  seconds: number; verify_seconds: number; n_nodes: number; n_constants: number;
  constant_bytes: number; value_bytes: number; n_applied: number; n_declined: number;
}
/** A launch of the program; six figures are null when it was not measured. `low_s` to `high_s` is
 * the 95 % interval of `median_s`. `predicted_s` is what it needs at least by the speeds of the
 * machine, which are measured or estimated, and `bound` what binds it: compute, L1, L2, L3, DRAM or
 * overhead. `words`: the family of a native kernel, or why a fallback is one. `text_kernel` is the
 * first kernel that runs the same function; their texts are the same. A kernel that runs in a
 * region of a node is `inside` the kernel of that node, in `region`, and is not measured on its
 * own. */
export interface Kernel {
  kernel: number; name: string; op: string; node: string; origins: string[]; inside: number | null;
  region: string; native: boolean; words: string; function: string; flops: number;
  bytes_read: number; bytes_written: number; predicted_s: number | null; bound: Bound | "";
  median_s: number | null; min_s: number | null; low_s: number | null; high_s: number | null;
  gflops: number | null; gbytes_per_s: number | null; parts: KernelPart[]; text_kernel: number;
}
/** Machine code made while running, and why. Elements of parameters are text. Units: seconds. */
export interface Specialization {
  shapes: Record<string, number[]>; parameters: Record<string, string>; seconds: number;
  because: string;
}
/** How a run is divided between generated code and the reference. `n_native` and `n_fallback` count
 * what is launched, `n_inside` the kernels within launches, `n_crossings` the changes between the
 * two sides. Foreign operators count no `flops`. */
export interface Running {
  n_native: number; n_inside: number; n_fallback: number; n_crossings: number; flops: number;
  native_flops: number; serves_all_sizes: boolean; notes: string[];
  specializations: Specialization[];
}
/** Memory alive in [start, end) launch steps. */
export interface Buffer {
  buffer: number; name: string; start: number; end: number; offset: number; size: number;
  values: string[];
}
/** Bytes that one buffer lay in last before another; both are numbers of buffers. */
export interface Handover { before: number; after: number; n_bytes: number; }
/** Something that has a name and words: a planner, or a way to find an order. */
export interface Method { name: string; words: string; source?: string; }
/** What putting launches in order does to memory. Units: bytes, `live_bytes` by launch. `given_` is
 * the order that the passes left; the other one was found by `method`, whose parts `found_by`
 * names, and is taken where its arena is smaller. `is_lowest`: no order has a lower peak. */
export interface LaunchOrder {
  method: Method; found_by: Method[]; is_changed: boolean; is_taken: boolean; is_lowest: boolean;
  given_peak_bytes: number; peak_bytes: number; given_arena_bytes: number; arena_bytes: number;
  given_live_bytes: number[]; live_bytes: number[];
}
/** The plan of the arena. Units: bytes; `live_bytes` and `used_bytes` by step. Used is all below
 * the end of the highest buffer alive. Most bytes are alive in `fullest_step`. The arena has
 * `peak_bytes`: no plan can be below the lower bound, and without sharing it would be
 * `unshared_bytes`; both count what alignment leaves between buffers. `order` is null where only a
 * run tells the sizes. */
export interface Memory {
  planner: Method | null; order: LaunchOrder | null; peak_bytes: number; lower_bound_bytes: number;
  unshared_bytes: number; n_steps: number; live_bytes: number[]; used_bytes: number[];
  fullest_step: number; handovers: Handover[]; buffers: Buffer[];
}
/** Whole runs on random inputs, timed; `skipped` says why there are none. */
export interface Run {
  median_s: number | null; min_s: number | null; low_s: number | null; high_s: number | null;
  repeats: number; threads: number; seed: number; skipped: string;
}
/** How far an output is from the reference; `scale` is the reference's largest magnitude. */
export interface OutputError {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
}
/** The program against the reference on random inputs. */
export interface Check { outputs: OutputError[]; seed: number; skipped: string; }
/** Labelled samples through the imported graph and through the program. */
export interface Accuracy {
  n: number; reference: number; compiled: number; n_agree: number; words: string;
}
/** The summary of a job; parts that were not reached are null or empty. */
export interface Result {
  job: string; state: JobState; complete: boolean; error: Problem | null; model: Model;
  inputs: TypedName[]; outputs: TypedName[]; shapes: Record<string, Shape>; pipeline: string;
  options: JobOptions; reproduce: string; versions: Record<string, string>; host: Host;
  timings: Timing[]; result_prefix: string; stages: Stage[]; kernels: Kernel[];
  running: Running | null; memory: Memory | null; run: Run | null; check: Check | null;
  accuracy: Accuracy | null;
}

// What checking a compiled model found: errors of stages, of values, and of the program.
export type Mark = "ok" | "steps" | "wrong";
/** An output against the yardstick and (`wide_error`, `ulps`) against the model in f64. Errors are
 * relative to the largest magnitude of the output; null where there is no number. */
export interface CheckedOutput {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
  note: string; wide_error: number | null; ulps: number | null;
}
/** One way to compute the model; errors are those of its worst output. */
export interface CheckedRun {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[];
}
/** A stage, computed by the reference. `moved`: how far from the stage before, if `has_moved`.
 * `n_moved` counts values that are other numbers than the model's own under the same name.
 * `values_stage` is the stage whose values these are, null when no values were kept. */
export interface CheckedStage {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[]; stage: number;
  name: string; changed: boolean; has_moved: boolean; moved: number | null; n_moved: number;
  values_stage: number | null;
}
/** A rewrite that is wrong by itself; `step` is its place among the stage's steps, or -1. */
export interface WrongRewrite {
  stage: number; step: number; pass_name: string; rule: string; at: string; kind: string;
  objection: string; relative_error: number | null;
}
/** Rewrites judged by themselves: equal ones once, as many as time permits. */
export interface CheckedRewrites { n_applied: number; n_judged: number; wrong: WrongRewrite[]; }
/** What a check has found so far. `kinds` are the inputs, `narrow` nodes that have no f64 form
 * (`n_narrow` in all). */
export interface Numerics {
  job: string; seed: number; yardstick: string; note: string; tolerance: number; allowed: number;
  in_codes: boolean; kinds: string[]; narrow: string[]; n_narrow: number; rows: CheckedStage[];
  program: CheckedRun | null; no_program: string; first_moved: number | null;
  first_wrong: number | null; rewrites: CheckedRewrites | null; broken: string;
  check_command: string; bisect_command: string;
}
/** A value against its f64 form, and whether it is another number than it was at first. `node` is
 * the id of the node that makes it; `counts` are elements by distance in ULP: at most each of
 * `places`, and more. */
export interface CheckedValue {
  name: string; node: string; absolute_error: number | null; relative_error: number | null;
  ulps: number | null; moved: boolean; counts: number[];
}
/** The values of a stage that the model has too, in order of computation, of `n_values`. */
export interface CheckedValues {
  stage: number; tolerance: number; n_values: number; places: number[]; values: CheckedValue[];
}

// Platforms, schedulers, and the schedules that were made.
/** Where devices compute; `nbytes` is null where there is always room. */
export interface PlatformMemory {
  name: string; nbytes: number | null; keeps_weights: boolean; handover_seconds: number;
}
/** Something that runs one task at a time; `operators` is null for all. */
export interface PlatformDevice {
  name: string; memory: string; flops_per_second: number; bytes_per_second: number;
  seconds_per_kernel: number; operators: string[] | null;
}
/** What carries values between memories, `channels` at a time. */
export interface PlatformLink {
  name: string; joins: string[]; latency_seconds: number; bytes_per_second: number;
  channels: number;
}
/** Devices, memories and links; values are in the memory `home` first and last. */
export interface Platform {
  name: string; words: string; home: string; memories: PlatformMemory[]; devices: PlatformDevice[];
  links: PlatformLink[];
}
/** A way to decide; one that is not quick searches for a few seconds. */
export interface Scheduler { name: string; words: string; source: string; is_quick: boolean; }
/** The platforms that ship, and all schedulers. */
export interface Platforms { platforms: Platform[]; schedulers: Scheduler[]; }
/** A scheduler among others; null and a problem for one that refused. `seconds` is what deciding
 * and simulating took. */
export interface PlacementRow {
  scheduler: string; seconds: number; makespan_seconds: number | null; bound_seconds: number | null;
  n_moves: number; moved_bytes: number; problem: Problem | null;
}
/** What schedulers made of the same tasks; `bound_seconds`: no schedule takes less. */
export interface Placements {
  job: string; platform: string; ahead: number | null; contention: boolean; n_tasks: number;
  bound_seconds: number; one_device_seconds: number | null; rows: PlacementRow[];
}
/** A kernel on a device; `task` is the id of its node. Units: seconds. */
export interface PlacedTask {
  task: string; device: string; start: number; end: number; operators: string[]; origins: string[];
  is_critical: boolean;
}
/** A value on a link; `task` makes it or else is the first to read it. Units: seconds. */
export interface PlacedMove {
  datum: string; link: string; source: string; to: string; start: number; end: number;
  nbytes: number; task: string; is_critical: boolean;
}
/** A simulated run. `held_bytes`: by memory, from when on how many bytes lie there. */
export interface Placement {
  scheduler: string; platform: string; makespan_seconds: number; bound_seconds: number;
  ahead: number | null; notes: string[]; peak_bytes: Record<string, number>;
  busy_seconds: Record<string, number>; held_bytes: Record<string, [number, number][]>;
  tasks: PlacedTask[]; moves: PlacedMove[];
}

// A measured run, kernel by kernel, beside what the machine could do.
export type Level = "L1" | "L2" | "L3" | "DRAM";
export type Unit = "f32" | "int8" | "bf16" | "int8_tiles" | "bf16_tiles";
/** Operations per second of one core by what multiplies; `is_used`: kernels of this run do. */
export interface Peak { unit: Unit; flops_per_second: number; is_used: boolean; }
/** How fast one core reads from a level of memory; `bytes` it holds, null for all there is. */
export interface MemoryLevel { level: Level; bytes: number | null; bytes_per_second: number; }
/** The speeds of one core, measured at a time (Unix seconds) or else estimated. `call_s` is what
 * calling a kernel on its own costs; every time of a kernel has it inside. */
export interface Machine {
  name: string; features: string[]; n_processors: number; is_measured: boolean;
  measured: number | null; peaks: Peak[]; levels: MemoryLevel[]; call_s: number;
}
/** Median, minimum, and from `low_s` to `high_s` the 95 % interval of the median. */
export interface Times { median_s: number; min_s: number; low_s: number; high_s: number; }
/** Whole runs. One in ten took longer than `slow_s`. */
export interface RunTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; slow_s: number; repeats: number;
}
/** A launch, timed on its own `repeats` times, and the roofline of it. `predicted_s` is what it
 * needs at least, called like this; `roof_s` the same without the call. `bytes` are read and
 * written in all, `fits` is the smallest memory that holds them, `traffic` where they are expected
 * to come from or go to. `shares`: by ONNX node its part of the time, as its operations and bytes
 * predict. `fewer_products`: computed with fewer products than `flops` counts (Winograd). */
export interface KernelTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; kernel: number;
  predicted_s: number | null; roof_s: number | null; bound: Bound | ""; unit: Unit | "";
  flops: number; bytes: number; fits: Level; traffic: Partial<Record<Level, number>>;
  fewer_products: boolean; shares: Record<string, number>;
}
/** Whole runs and their kernels, timed interleaved on the same random inputs. */
export interface Profile {
  threads: number; seed: number; machine: Machine; run: RunTimes; kernels: KernelTimes[];
}

// Schedules that are being edited.
export type MoveLevel = "stages" | "nest";
/** An argument of a move: of what kind it is, in words too; `is_rest` takes any number. */
export interface MoveParameter { name: string; kind: string; words: string; is_rest: boolean; }
/** A move of the language of schedules; `level` is what it is made on. */
export interface Move {
  name: string; signature: string; words: string; level: MoveLevel; parameters: MoveParameter[];
}
/** All moves, the steps of processors, and how many `characters` a schedule may have. */
export interface Moves { characters: number; steps: string[]; moves: Move[]; }
/** The text of a schedule that is being edited. */
export interface ScheduleToCheck { text: string; }
/** The loops of a nest after a line (0: as it begins), outermost first; the tensors it reads. */
export interface NestAt { nest: string; line: number; loops: string[]; tensors: string[]; }
/** What reading a schedule gave: its problems, and the nests after each line that was read. */
export interface CheckedSchedule {
  problems: Problem[]; n_moves: number; stages: string[]; nests: NestAt[];
}
/** A kernel at each level; `cut` counts lines left out, the figures are of the listing. */
export interface ScheduledCode {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
  n_instructions: number; n_spills: number | null; n_bytes: number;
}
/** A result with both schedules on the same operands. */
export interface ComparedOutput {
  name: string; agrees: boolean; max_abs_error: number; scale: number;
}
/** One call: the median, and the 95 % interval of it. Units: seconds. */
export interface CallTime { median_s: number; low_s: number; high_s: number; }
/** Both kernels timed interleaved on one thread; `ratio` is edited by original, `low` to `high`.
 * Where code and data happen to lie moves a ratio by up to about `noise` from run to run. */
export interface SchedulesInTurns {
  rounds: number; noise: number; ratio: number; low: number; high: number; original: CallTime;
  edited: CallTime;
}
/** Results and times of both; `times` are null until it was run, and where numbers differ. */
export interface ScheduleVerdict { outputs: ComparedOutput[]; times: SchedulesInTurns | null; }
/** A kernel with an edited schedule beside its own; `because` says why it was not run. */
export interface EditedKernel {
  outputs: ComparedOutput[]; times: SchedulesInTurns | null; job: string; kernel: number;
  name: string; text: string; original: ScheduledCode; edited: ScheduledCode; because: string;
}

// Short links.
/** The state of the page to be shared: what its URL says behind the #. */
export interface LinkRequest { fragment: string; }
/** A short link: the state in normal form, and the request of the job that is compared with.
 * `made_with` is the version that made the link, `program` the one that opens it. Unix seconds. */
export interface SharedLink {
  id: string; path: string; fragment: string; other: JobRequest | null; made_with: string;
  program: string; created: number;
}

// Graphs by stage, steps, texts, the drawing, and where everything came from.
export type GroupKind = "scope" | "repeat" | "block" | "stretch";
export type DiffMark = " " | "-" | "+" | "…";
export type Verdict = "together" | "apart" | "not neighbours" | "gone";
export type Outcome = "applied" | "declined";
export type StorageKind = "splat" | "seeded" | "literal" | "blob" | "file";
export type Edge = [string, string, number, string];
export type Span = [number, number, string];
export type DiffRow = [DiffMark, number | null, number | null, string];
/** A node, an input or a result of a graph. */
export interface GraphNode {
  id: string; kind: "node" | "input" | "result"; name: string; op: string; family: string;
  outputs: string[]; types: string[]; inputs: string[]; attrs: Record<string, string>;
  origins: string[]; regions: Record<string, Region>;
}
/** A constant: not drawn, but listed. */
export interface GraphConstant {
  name: string; type: string; storage: StorageKind; text: string; bytes: number;
  stored_bytes: number; origins: string[]; readers: string[];
}
/** A graph inside a node: the body of a fusion, or of control flow. */
export interface Region { nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[]; }
/** The nodes and constants that differ from the stage before. */
export interface Marks { added: string[]; changed: string[]; removed: string[]; }
/** Which stage a graph is of, and what its pass did to nodes and constants. */
export interface StageFacts {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string;
}
/** The graph of a stage. An edge is [from, to, operand, value]. */
export interface StageGraph {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string; nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[];
}
/** What makes the graph of a stage of that of stage `against` (-1: of nothing). A piece is [start,
 * end, items]: the old ones from start to before end, then new items. */
export interface StageDelta {
  added: string[]; changed: string[]; removed: string[]; stage: number; graph_stage: number;
  name: string; against: number; nodes: [number, number, GraphNode[]][];
  edges: [number, number, Edge[]][]; constants: [number, number, GraphConstant[]][];
}
/** What a rewrite saves by the declared costs; `seconds` are estimated by a roofline. */
export interface Saved { flops: number; bytes: number; seconds: number; }
/** A rewrite that was applied, or considered and declined. `error` is what results may change by,
 * relative to their scale; `seconds` were spent on it. */
export interface Step {
  rule: string; outcome: Outcome; because: string; at: string; took: string[]; made: string[];
  exact: boolean; error: number; source: string; seconds: number; saves: Saved | null;
}
/** The steps of a pass, a page of them; `n_dropped` were too many to be kept. */
export interface Steps {
  stage: number; n_steps: number; n_dropped: number; offset: number; steps: Step[];
}
/** A text of `n_lines`, of which the last `cut` were left out. */
export interface CutText { n_lines: number; cut: number; text: string; }
/** A stage's graph as text; a span is [first line, number of lines, id]. */
export interface StageText {
  n_lines: number; cut: number; text: string; stage: number; graph_stage: number; spans: Span[];
}
/** Two texts; a row is [mark, old line, new line, text], lines from 0. A row ["…", n, null, ""]
 * stands for n equal lines. */
export interface TextDiff { n_added: number; n_removed: number; cut: number; rows: DiffRow[]; }
/** The texts of two stages, old is `against`. */
export interface StageDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; stage: number; against: number;
}
/** A node of the drawing, in a group; present in the half-open ranges `stages`. Units: px. */
export interface UnionNode {
  key: string; id: string; stages: [number, number][]; group: string; width: number; height: number;
}
/** Nodes and groups drawn as one while it is closed, by `dot` inside while open. Units: px. */
export interface UnionGroup {
  key: string; label: string; kind: GroupKind; times: number; group: string; open: boolean;
  width: number; height: number; dot: string;
}
/** All stages' nodes in one drawing, as nested DOT without any text of the model. */
export interface Union {
  dot: string; n_nodes: number; n_drawn: number; collapsed: boolean; nodes: UnionNode[];
  groups: UnionGroup[];
}
/** What the move of one line of a schedule does, and the loops of its nest after it. */
export interface ScheduleStep { words: string; outline: string; }
/** One level of one kernel as text; `steps` has an entry for each line of a schedule. */
export interface KernelText {
  n_lines: number; cut: number; text: string; kernel: number; part: KernelPart;
  steps: ScheduleStep[];
}
/** One kernel of one job. */
export interface KernelOfJob { job: string; kernel: number; }
/** One level of two kernels, old is `against`. */
export interface KernelDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; part: KernelPart;
  kernel: number; against: KernelOfJob;
}
/** Where lines of a kernel came from, counted from 0; -1 for none, empty where it is not known. For
 * each line of the LLVM text its line of Loop IR; for each of the assembly its line of LLVM. */
export interface KernelLinks { kernel: number; llvm: number[]; asm: number[]; }
/** A step of the ledger that bears on two nodes, and the stage whose pass took it. */
export interface Chapter {
  stage: number; pass_name: string; rule: string; outcome: Outcome; at: string; because: string;
}
/** Two nodes of the model of which one reads the other: one kernel or two, and why. */
export interface Neighbour {
  maker: string; reader: string; verdict: Verdict; because: string; chapters: Chapter[];
}
/** The answers for all edges of the model. */
export interface Neighbours { edges: Neighbour[]; }
/** An ONNX node, and what was made of it; `nodes` and `constants` have the ids by stage. */
export interface OnnxNode {
  name: string; op: string; nodes: Record<string, string[]>; constants: Record<string, string[]>;
  kernels: number[]; buffers: number[]; functions: string[];
}
/** From ONNX nodes to stages' nodes, kernels, buffers and functions. */
export interface Provenance { onnx: OnnxNode[]; }

// A kernel's code for several machines.
/** A class of instructions, in words. */
export interface InstructionClass { name: string; words: string; }
/** A machine among others, and what the kernel's instructions for it are. Counts are of the
 * listing, each instruction once. Null for machines without registers, and all null with a reason
 * in `because` where there is no code. */
export interface TargetRow {
  target: string; triple: string; vector_bytes: number; n_vector_registers: number; seconds: number;
  because: string; counts: Record<string, number>; n_instructions: number | null;
  widest_bytes: number | null; n_registers: number | null; n_spills: number | null;
  n_bytes: number | null;
}
/** A kernel's code for all machines, in figures. */
export interface Targets {
  job: string; kernel: number; name: string; classes: InstructionClass[]; rows: TargetRow[];
}
/** Which line of the level above a line came of, counted from 0; -1 for none. */
export interface TargetLinks { llvm: number[]; asm: number[]; }
/** A kernel at each level; `cut` counts lines left out. */
export interface KernelLevels {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
}
/** A kernel's code for one machine, at each level. */
export interface TargetCode {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
  target: string; kernel: number;
}

// A search for faster schedules.
export type TrialOutcome = "right" | "refused" | "wrong" | "failed";
export type SearchName = "annealing" | "genetic" | "random";
/** A computation that is searched: who runs it, the policy's schedule, and the best one found.
 * Seconds are of one call, timed interleaved, null before that; `because` says why it is not kept.
 * */
export interface TunedKernel {
  name: string; kernels: number[]; share: number; policy: string; schedule: string;
  untuned_s: number | null; tuned_s: number | null; kept: boolean; because: string;
  why_stopped: string;
}
/** A candidate. `kernel` is a row of `kernels`; `ratio` its time as a part of the policy's. */
export interface TuneTrial {
  kernel: number; number: number; outcome: TrialOutcome; words: string; ratio: number | null;
  expected: number | null; best: number; schedule: string;
}
/** Whole runs, interleaved: the least times, and how many times faster, with its 95 % bounds. */
export interface TunedModel {
  untuned_s: number; tuned_s: number; ratio: number | null; low: number | null; high: number | null;
  rounds: number;
}
/** A search, as far as it got. */
export interface Tuning {
  job: string; kernel: number | null; search: SearchName; budget_seconds: number;
  searching_seconds: number; kernels: TunedKernel[]; trials: TuneTrial[]; model?: TunedModel | null;
}

// Models that are being written.
export type Language = "ir" | "py";
/** The text of a model, in the text form of graphs or in Python. */
export interface TextToCheck { language: Language; text: string; }
/** A value that a line defines; lines count from 1. */
export interface TextLine { line: number; name: string; type: string; }
/** What reading a text gave: its problems, or a model of so many nodes. `ir` is the model in the
 * text form, "" when there is none or it is too long to be written. */
export interface CheckedText {
  problems: Problem[]; lines: TextLine[]; n_nodes: number | null; ir: string;
}
/** A function for constants that is there beside the operators. */
export interface ConstantMaker { name: string; signature: string; words: string; }
/** A text to begin with. */
export interface TextExample { name: string; language: Language; words: string; text: string; }
/** What somebody who writes needs; `characters` is how long a text may be. */
export interface Writing {
  languages: string[]; characters: number; makers: ConstantMaker[]; examples: TextExample[];
}

// Requests of jobs about the result of a job, and what clients send of them.
export type Asked = PlaceRequest | CheckRequest | BisectRequest | ProfileRequest | TargetsRequest |
  TuneRequest | ScheduleRequest | ExportRequest;
/** The request of a placing job; `job` is the one that compiled the model. */
export interface PlaceRequest {
  kind: "place"; job: string; platform: string; scheduler: string; ahead: number | null;
  contention: boolean;
}
/** The request of a checking job; `job` is the one that compiled the model. */
export interface CheckRequest { kind: "check"; job: string; seed: number; }
/** The request of a bisecting job; `job` is the one that compiled the model. */
export interface BisectRequest { kind: "bisect"; job: string; seed: number; moved: number | null; }
/** The request of a job that times again; `job` is the one that compiled the model. */
export interface ProfileRequest { kind: "profile"; job: string; seconds: number; machine: boolean; }
/** The request of such a job; `job` is the one that compiled the model. */
export interface TargetsRequest { kind: "targets"; job: string; kernel: number; }
/** The request of a tuning job; `job` is the one that compiled the model. */
export interface TuneRequest {
  kind: "tune"; job: string; budget_seconds: number; search: SearchName; kernel: number | null;
  seed: number;
}
/** The request of such a job; `job` is the one that compiled the model. */
export interface ScheduleRequest { kind: "schedule"; job: string; kernel: number; text: string; }
/** The request of such a job; `job` is the one that compiled the model. */
export interface ExportRequest { kind: "export"; job: string; stage: number; fused: boolean; }
/** What to place on and how; `ahead` is for how many tasks operands are brought early, null for as
 * early as they can be. */
export interface PlaceOptions {
  platform: string; scheduler?: string; ahead?: number | null; contention?: boolean;
}
/** What to check on: random inputs of this seed, that of the compilation unless given. */
export interface CheckOptions { seed?: number; }
/** What to look for: results that move by more than the part `moved` of their scale, whatever the
 * reason; null for what is wrong beyond rounding. Inputs are random, of this seed. */
export interface BisectOptions { seed?: number; moved?: number | null; }
/** About how long to time, and whether to measure the machine's own speeds first. */
export interface ProfileOptions { seconds?: number; machine?: boolean; }
/** For which kernel of the job code is made. */
export interface TargetOptions { kernel: number; }
/** For how long, how, and which kernel; without one all are, the longest first. */
export interface TuneOptions {
  budget_seconds?: number; search?: SearchName; kernel?: number | null; seed?: number;
}
/** Which kernel of the job is to be run with which schedule. */
export interface ScheduleOptions { kernel: number; text: string; }
/** How fusions are written: each as one function of the model, or as the operators in them. */
export interface ExportOptions { fused?: boolean; }
