// Written by `python -m app.contract` from app/wire/shapes and app/jobs: edit those.
// Every answer and event also has `version: 1`. docs/wire.md has the routes.

// A minimal set of rewrites that changes a model's numerical results.

/** A rewrite of the minimal set, with its `stage` and `step` in the compilation; -1 if the
 * compilation did not apply the rewrite. */
export interface BisectedRewrite {
  pass_name: string; rule: string; at: string; stage: number; step: number; is_wrong_alone: boolean;
}
/** A small model with the same fault; `opens` is true if `text` contains the complete model.
 * `onnx_bytes` is 0 if ONNX cannot represent the model; `n_cut` counts the omitted lines of
 * `text`. */
export interface ReducedModel {
  n_nodes: number; text: string; n_cut: number; opens: boolean; pipeline: string;
  onnx_bytes: number;
}
/** The findings of a bisection so far; `kind` is "" if no result is wrong or changed. `first` is
 * the first responsible rewrite in pipeline order. `passes` are the passes that cause the fault
 * even if all their rewrites are disabled. `n_nodes` is the size of the model before its
 * reduction. */
export interface Bisection {
  job: string; seed: number; moved: number | null; kind: string; detail: string; is_stable: boolean;
  rewrites: BisectedRewrite[]; rules: string[]; passes: string[]; first: BisectedRewrite | null;
  n_before_first: number; n_runs: number; seconds: number; n_nodes: number;
  reduced: ReducedModel | null;
}

// Comparisons of two compilations of one model, timed together.

export type Verdict = "faster" | "slower" | "same" | "unknown";
/** The times of a kernel. */
export interface ComparedKernel {
  median_s: number; min_s: number; low_s: number; high_s: number; kernel: number;
}
/** The times of one of two programs: whole runs, and each kernel. `launches_s` is the median
 * time of all launches, without the transfer of inputs and outputs. The times of kernels include
 * a separate call each, which takes about `call_s`. */
export interface ComparedProgram {
  launches_s: number; call_s: number; run: RunTimes; kernels: ComparedKernel[];
}
/** The verdict on whole runs of one copy of each program. `ratio` is the time of B relative to
 * A, and `low` to `high` its 99 % confidence interval. Differences below `equal_share` count as
 * equal. */
export interface ComparedRuns {
  verdict: Verdict; ratio: number; low: number; high: number; equal_share: number;
}
/** Times of two compilations A and B of one model, in interleaved rounds of one process. `other`
 * is the compilation B. `ratio` is the time of B relative to A, and `low` to `high` its 99 %
 * confidence interval. `verdict` compares B with A. The ratio compares the launches of
 * `n_copies` copies of each program, in `n_blocks` blocks. If `is_native` is false, the ratio
 * compares whole runs, because a run needs more than one native call. `runs` compares whole runs
 * with transfers, of one copy each. Differences below `equal_share` count as equal. */
export interface Comparison {
  other: string; verdict: Verdict; ratio: number; low: number; high: number; equal_share: number;
  n_copies: number; n_blocks: number; is_native: boolean; threads: number; seed: number;
  disturbance: Disturbance; runs: ComparedRuns; a: ComparedProgram; b: ComparedProgram;
}

// The data of each server-sent event of a job. The events come in this order: `queued` (repeated
// when the position changes), `started`, the other events as they occur, and finally `finished`,
// `failed` or `cancelled`.

/** The job waits; `position` in the queue counts from 1. `wait_s` is the estimated waiting time
 * in seconds, from the durations of recent jobs; null if there are none. */
export interface QueuedEvent { position: number; wait_s: number | null; }
/** A child process has started the job. */
export interface StartedEvent { }
/** A phase has begun. */
export interface PhaseEvent { phase: string; words: string; }
/** Stage 0 is available. */
export interface ImportedEvent {
  stage: number; name: string; n_nodes: number; n_constants: number;
}
/** A pass has ended, and its stage is available. */
export interface PassEvent {
  stage: number; name: string; seconds: number; changed: boolean; n_nodes: number;
  n_applied: number; n_declined: number;
}
/** A part of the result is available, even if the job has not finished. The parts of a
 * compilation are `code` (kernels, memory, provenance, all texts except assembly), `measure`
 * (times of kernels and of whole runs), `listing` (assembly), `check`, `accuracy`, and `links`
 * (links between texts, fusion verdicts). */
export interface ReadyEvent { part: string; }
/** Progress of a measurement: the number of timed rounds, and the elapsed fraction of its time. */
export interface RoundEvent { done: number; share: number; }
/** The job has ended; after a failure, `error` is the reason. */
export interface EndEvent { seconds: number; n_stages: number; error?: Problem; }

// The export of a stage as an ONNX file.

/** An exported file; `objection` is the message of onnx's checker, "" if it accepts the file.
 * `file` is the name of the file. `n_functions` counts the fusions exported as functions. */
export interface ExportedModel {
  job: string; stage: number; fused: boolean; file: string; bytes: number; opset: number;
  n_nodes: number; n_functions: number; objection: string;
}

// Errors, and facts independent of jobs: server, samples, pipelines, operators, uploads.

export type PassKind = "rules" | "graph" | "analysis";
/** A position in a text or model of the user; 0 and "" mean unknown. */
export interface Where {
  source: string; line: number; column: number; length: number; node: string;
}
/** An error: its code, message, position, notes and hint. */
export interface Problem {
  code: string; message: string; where: Where; notes: string[]; hint: string; trace_id?: string;
}
/** The content of every error answer: the problem details of RFC 9457, with our own as `error`.
 * `type` is the address of the page about the error code, `title` the meaning of the code. */
export interface Failure {
  type: string; title: string; status: number; detail: string; ok: false; error: Problem;
}
/** The limits relevant to users. The field names contain the units. */
export interface Limits {
  upload_limit_bytes: number; job_limit_s: number; memory_limit_bytes: number;
  output_limit_bytes: number; queue_limit: number; n_workers: number; drawn_nodes_limit: number;
}
/** The machine that runs the programs. */
export interface Host { name: string; triple: string; vector_bytes: number; }
/** The description of a machine. Sizes of caches are per core, `l3_bytes` in total. */
export interface MachineFacts {
  processor: string; triple: string; features: string[]; vector_bytes: number; n_processors: number;
  l1d_bytes: number; l2_bytes: number; l3_bytes: number;
}
/** A machine that runs jobs; times of machines of different kinds are never compared. */
export interface MachineAtWork { name: string; kind: string; facts: MachineFacts; }
/** Facts about the server, and the machines that run its jobs. */
export interface About {
  program: string; limits: Limits; versions: Record<string, string>; host: Host;
  machines: MachineAtWork[];
}
/** Whether this server isolates models and texts, as its self-test has found. `unknown`: not
 * tested. `absent`: uploads and written models are refused. `waived`: they run without
 * isolation, as the user of the server has decided. `obstacle` and `fix` are "" unless the
 * sandbox is absent or waived; `fix` is the remedy. */
export interface Sandbox {
  state: "unknown" | "complete" | "absent" | "waived"; obstacle: string; fix: string;
}
/** A built-in model. `n_onnx_nodes` counts the nodes of the file. `shapes` suggests sizes for
 * open dimensions. `precisions` lists the precision modes that suit the model. */
export interface Sample {
  id: string; title: string; words: string; bytes: number; n_onnx_nodes: number;
  weights: "trained" | "seeded"; has_labels: boolean; accuracy: number | null;
  shapes: Record<string, number[]>; precisions: string[];
}
/** All sample models. */
export interface Samples { samples: Sample[]; }
/** An option of a pass: its default, written as in a pipeline, and a description of its values. */
export interface PassOption {
  name: string; type: string; default: string; choices: string[]; words: string;
}
/** An example of a rule's application: the graphs before and after, as text. */
export interface RuleExample { before: string; after: string; }
/** A kind of step of a pass without rules; `near_miss` is a similar graph without a step.
 * `near_miss_because` is the reason that the pass records for the near miss, "" for none. An
 * analysis changes no graph: both graphs of its example are equal, and it has no near miss. */
export interface StepKind {
  name: string; words: string; example: RuleExample; near_miss: string; near_miss_because: string;
}
/** A pass for use in pipelines. Each of its steps names one of its `rules` or `steps`. */
export interface PassInfo {
  name: string; kind: PassKind; words: string; options: PassOption[]; rules: string[];
  steps: StepKind[]; needs: string[]; gives: string[]; example: string; source: string;
}
/** A rewrite rule; `exact` is false if results may round differently. `near_miss` is a similar
 * graph that the rule does not rewrite, for the reason in `near_miss_because`. `error` is the
 * error budget of an inexact rule, relative to the scale of results. */
export interface RuleInfo {
  name: string; words: string; pattern: string; exact: boolean; error: number; example: RuleExample;
  near_miss: string; near_miss_because: string; source: string;
}
/** A pipeline with a name; `lines` gives the reason for each pass. `imitates` is the compiler
 * whose pipeline the preset imitates with our passes, "" for our own. */
export interface Preset {
  name: string; words: string; imitates: string; text: string; lines: PresetLine[];
}
/** A precision mode: its guarantee, and the tolerance of model outputs relative to their scale.
 * `needs` is the requirement on models, "" if the mode suits every model. See `precisions` of
 * `Sample` and of `Model`. */
export interface PrecisionInfo { name: string; words: string; tolerance: number; needs: string; }
/** One pass of a preset, and the reason for its position. */
export interface PresetLine { text: string; because: string; }
/** Presets, passes and rules; steps of any pass may name a kind of `shared_steps`. */
export interface Pipelines {
  presets: Preset[]; precisions: PrecisionInfo[]; passes: PassInfo[]; rules: RuleInfo[];
  shared_steps: StepKind[];
}
/** A pipeline as text, to be checked. */
export interface PipelineText { text: string; }
/** A pass with the values of all its options. */
export interface CheckedPass { name: string; options: Record<string, string | number>; }
/** A pipeline in normal form; `advice` suggests more effective positions of passes. */
export interface CheckedPipeline { text: string; passes: CheckedPass[]; advice: string[]; }
/** The description of an operator, for the page. */
export interface OperatorInfo {
  name: string; family: string; words: string; signature: string; source: string;
}
/** All declared operators. */
export interface Operators { operators: OperatorInfo[]; }
/** A row of the table of error codes. */
export interface ErrorCode { code: string; meaning: string; hint: string; }
/** The table of error codes. */
export interface ErrorCodes { errors: ErrorCode[]; }
/** The facts about an upload that are known before a job reads the file. */
export interface Upload { id: string; name: string; bytes: number; }

// Jobs, and the summary of their results.

export type KernelPart = "computation" | "schedule" | "loops" | "llvm" | "asm";
export type Bound = "compute" | "L1" | "L2" | "L3" | "DRAM" | "overhead";
export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";
export type ModelChoice = SampleChoice | UploadChoice;
/** A built-in model. */
export interface SampleChoice { sample: string; }
/** An uploaded model. */
export interface UploadChoice { upload: string; }
/** The options of a job. */
export interface JobOptions {
  target?: string; precision?: string; threads?: number; measure?: boolean; check?: boolean;
  accuracy?: boolean; seed?: number;
}
/** The request of a new job; `pipeline` is the name of a preset or the text of a pipeline.
 * `tuned` is the tuning job whose schedules are used, "" for none. `without` names disabled
 * rules. */
export interface JobRequest {
  kind: "compile" | "inspect"; model: ModelChoice; pipeline?: string;
  shapes?: Record<string, number[]>; options?: JobOptions; tuned?: string; without?: string[];
}
/** The state of a job. `wait_s` is the estimated waiting time of a queued job in seconds; null
 * if it is unknown. `machine` is the name of the machine that runs or ran the job, "" before its
 * first attempt. */
export interface Job {
  id: string; kind: string; state: JobState; position: number; wait_s: number | null; phase: string;
  n_stages: number; last_event: number; created: number; seconds: number; error: Problem | null;
  request: JobRequest | LessonRequest | JudgeRequest | Asked; model_name: string; machine: string;
}
/** The stored jobs that have examined another job's result, newest first. `report` is the
 * command line that writes a report with all findings, "" if no report is possible. */
export interface Beside { jobs: Job[]; report: string; }
/** The number of nodes of an operator. */
export interface OperatorCount { op: string; count: number; }
/** Facts about an imported model. `n_onnx_nodes` counts the nodes of the file, and `n_nodes`
 * those of the imported graph. `precisions` lists the precision modes that suit the model. */
export interface Model {
  name: string; source: "sample" | "upload"; id: string; bytes: number; n_onnx_nodes: number;
  n_nodes: number; n_constants: number; n_parameters: number; constant_bytes: number;
  operators: OperatorCount[]; precisions: string[];
}
/** A value's name and type as text. */
export interface TypedName { name: string; type: string; }
/** The shape of an input in the compilation. `assumed` is true if neither model nor user defines
 * the shape. */
export interface Shape { dims: (number | string)[]; assumed: boolean; }
/** The duration of a phase. */
export interface Timing { phase: string; seconds: number; }
/** The graph after a pass; stage 0 is the imported graph. `pass_number` is the position of the
 * pass in the order of execution, from 1; it is null for the imported graph and for
 * "specialise", which no pass made. `value_bytes` is null while a size is open. */
export interface Stage {
  stage: number; pass_number: number | null; name: string; words: string; changed: boolean;
  graph_stage: number; seconds: number; verify_seconds: number; n_nodes: number;
  n_constants: number; constant_bytes: number; value_bytes: number | null; n_applied: number;
  n_declined: number;
}
/** Figures of all passes that have ended; `seconds` excludes verification. */
export interface Passes {
  n_passes: number; n_changed: number; seconds: number; verify_seconds: number;
}
/** A kernel of the program; the measured figures are null if the kernel was not measured.
 * `low_s` to `high_s` is the 95 % confidence interval of `median_s`. `predicted_s` is the lower
 * bound of the kernel's time, from the measured or estimated speeds of the machine. `bound` is
 * the limiting resource: compute, L1, L2, L3, DRAM or overhead. `words` is the family of a
 * native kernel, or the reason for a fallback. `text_kernel` is the first kernel with the same
 * function; their texts are equal. For a kernel in a region of a control-flow node, `region` is
 * the name of the region, and `inside` is the kernel of the node. Such a kernel is not measured
 * separately. */
export interface Kernel {
  kernel: number; name: string; op: string; node: string; origins: string[]; inside: number | null;
  region: string; native: boolean; words: string; function: string; flops: number;
  bytes_read: number; bytes_written: number; bytes: number; predicted_s: number | null;
  bound: Bound | ""; median_s: number | null; min_s: number | null; low_s: number | null;
  high_s: number | null; gflops: number | null; gbytes_per_s: number | null; parts: KernelPart[];
  text_kernel: number;
}
/** Code that was generated at run time, with the reason. Parameters are text. Units: seconds. */
export interface Specialization {
  shapes: Record<string, number[]>; parameters: Record<string, string>; seconds: number;
  because: string;
}
/** The division of a run into generated code and fallbacks to the reference. `n_native` and
 * `n_fallback` count launches, `n_inside` the kernels inside launches, and `n_crossings` the
 * switches between generated code and the reference. `flops` excludes the `n_uncounted`
 * fallbacks whose operators declare no operations; if there are such fallbacks, `native_share`
 * is null. `predicted_s` is the sum of the lower bounds of all launches, null if a fallback has
 * none. */
export interface Running {
  n_kernels: number; n_native: number; n_inside: number; n_fallback: number; n_crossings: number;
  n_uncounted: number; flops: number; native_flops: number; native_share: number | null;
  predicted_s: number | null; weight_bytes: number; serves_all_sizes: boolean; notes: string[];
  specializations: Specialization[];
}
/** A buffer of the arena, live in the half-open range [start, end) of launch steps. */
export interface Buffer {
  buffer: number; name: string; start: number; end: number; offset: number; size: number;
  values: string[];
}
/** The buffer with index `after` reuses `n_bytes` bytes of the buffer with index `before`. */
export interface Handover { before: number; after: number; n_bytes: number; }
/** Name and description of a planner, or of a method to find an order. */
export interface Method { name: string; words: string; source?: string; }
/** The effect of the launch order on memory. Units: bytes; `live_bytes` has a figure per launch.
 * Fields with `given_` describe the launch order after the passes, before reordering. `method`
 * found another order, with the help of the methods in `found_by`. `is_taken` is true if the
 * program uses this other order: its arena is smaller, or the user requested a method other than
 * `best` and `dp`. `is_lowest` is true if no order has a lower peak. */
export interface LaunchOrder {
  method: Method; found_by: Method[]; is_changed: boolean; is_taken: boolean; is_lowest: boolean;
  given_peak_bytes: number; peak_bytes: number; given_arena_bytes: number; arena_bytes: number;
  given_live_bytes: number[]; live_bytes: number[];
}
/** The memory plan of the arena. Units: bytes; `live_bytes` and `used_bytes` have a figure per
 * step. `used_bytes` is the end of the highest live buffer. `fullest_step` is the step with the
 * peak. The size of the arena is `peak_bytes`; without sharing of memory it would be
 * `unshared_bytes`. Both sizes include alignment gaps between buffers. No plan is smaller than
 * `lower_bound_bytes`; `over_bound` is the part of the arena above this bound, relative to the
 * bound. `idle_share` is the share of occupied bytes that are not live. `order` is null if sizes
 * are open. */
export interface Memory {
  peak_bytes: number; lower_bound_bytes: number; live_peak_bytes: number; unshared_bytes: number;
  over_bound: number | null; idle_share: number; n_buffers: number; planner: Method | null;
  order: LaunchOrder | null; n_steps: number; live_bytes: number[]; used_bytes: number[];
  fullest_step: number; handovers: Handover[]; buffers: Buffer[];
}
/** Times of whole runs on random inputs; if nothing was measured, `skipped` is the reason.
 * `flops_per_s` is the program's operations per second of the median run. */
export interface Run {
  median_s: number | null; min_s: number | null; low_s: number | null; high_s: number | null;
  flops_per_s: number | null; repeats: number; threads: number; seed: number; skipped: string;
  disturbance: Disturbance | null;
}
/** The error of an output against our reference; `scale` is the reference's largest magnitude. */
export interface OutputError {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
}
/** The errors of the program against our reference, on random inputs; `Numerics` has the errors
 * against onnx.reference. */
export interface Check { outputs: OutputError[]; seed: number; skipped: string; }
/** The accuracy of the imported graph and of the program on labelled samples. */
export interface Accuracy {
  n: number; reference: number; compiled: number; n_agree: number; words: string;
}
/** Values without elements for the sizes of the compilation. `outputs` are the names of outputs.
 * `n_values` counts the other computed values that are empty only because of these sizes;
 * `first` is the first of them. */
export interface Empty { outputs: string[]; n_values: number; first: string; }
/** The summary of a job; parts that the job has not computed are null or empty. */
export interface Result {
  job: string; state: JobState; complete: boolean; error: Problem | null; model: Model;
  inputs: TypedName[]; outputs: TypedName[]; shapes: Record<string, Shape>; pipeline: string;
  options: JobOptions; reproduce: string; versions: Record<string, string>; host: Host;
  timings: Timing[]; result_prefix: string; stages: Stage[]; passes: Passes; kernels: Kernel[];
  running: Running | null; memory: Memory | null; run: Run | null; check: Check | null;
  accuracy: Accuracy | null; empty: Empty;
}

// Lessons of the course: runs of their blocks, exercises, and verdicts on answers.

export type JudgeVerdict = "passed" | "failed" | "error" | "timeout";
export type MotionKind = "walk" | "places" | "rewrites";
export type WalkUse = "read" | "write" | "sum";
export type WalkCells = [number, WalkUse, number, number, number, number];
export type RewritePhase = "start" | "match" | "replace";
/** The request of a job that runs a lesson; `digest` is that of the lesson's text. */
export interface LessonRequest {
  kind: "lesson"; lesson: string; digest: string; seconds: number; foreign: boolean;
}
/** The request of a job that judges an answer; `digest` is that of the exercise. */
export interface JudgeRequest {
  kind: "judge"; exercise: string; digest: string; files: Record<string, string>; seed: number;
}
/** The options of a run of a lesson: the time in seconds for measuring in each experiment. */
export interface LessonOptions { seconds?: number; }
/** An answer to an exercise, by file name, and the seed of all random inputs. */
export interface AnswerToJudge { files: Record<string, string>; seed?: number; }
/** A result of a block; a measured value has an interval. Values that are infinite are null. */
export interface LessonAmount {
  value: number | null; unit: string; text: string; low: number | null; high: number | null;
}
/** A box of a drawing; `key` names it in the DOT text, `id` in the text of the graph. */
export interface DrawnNode {
  key: string; id: string; op: string; label: string; detail: string; family: string;
}
/** A small graph as DOT, with the words of its boxes; `n_more` nodes are too many to draw. */
export interface GraphDrawing { dot: string; nodes: DrawnNode[]; n_more: number; }
/** A step of a pass: an applied or declined rewrite. */
export interface LessonStep { rule: string; outcome: string; at: string; because: string; }
/** A pass of a pipeline; `n_more` further steps are not listed. */
export interface LessonPass {
  name: string; words: string; changed: boolean; steps: LessonStep[]; n_more: number;
}
/** A quantity that an experiment counts or measures. */
export interface LessonMeasure { name: string; unit: string; words: string; timed: boolean; }
/** A case of an experiment; `rounds` are the times of its timed runs in seconds. */
export interface LessonCase { name: string; pipeline: string; words: string; rounds: number[]; }
/** A placed buffer. Units: bytes; `start` and `end` are steps, the end excluded. */
export interface LessonBuffer {
  name: string; start: number; end: number; offset: number; size: number;
}
/** A buffer of a kernel as a matrix; the last axis has the columns, all others the rows. */
export interface LessonMatrix {
  name: string; shape: number[]; rows: number; columns: number; role: string;
}
/** An iteration of a kernel's loops: the values of the loops, and its elements as text. `cells`
 * are rectangles of elements: the position of the matrix, the use, the first row, the first
 * column, the number of rows, and the number of columns. The use "sum" means that the frame adds
 * to registers that are stored to these elements later. */
export interface WalkFrame {
  at: string; reads: string; writes: string; sums: string; cells: WalkCells[];
}
/** The placement of a buffer, by its position in the plan. `on` names the buffers below it that
 * are live at the same time. `shares` names buffers with common bytes; in the order "run", only
 * the last owners of these bytes. Units: bytes. */
export interface PlaceFrame { buffer: number; on: string[]; shares: string[]; peak_bytes: number; }
/** A rewrite before ("match") and after ("replace") it is applied; "start" is the given graph.
 * `boxes` and `lines` are the visible boxes and lines of the drawing, by position. `marked` are
 * the boxes that the rewrite matched or made. */
export interface RewriteFrame {
  phase: RewritePhase; step: number; rule: string; at: string; because: string; took: string[];
  made: string[]; boxes: number[]; marked: number[]; lines: number[];
}
/** A moving picture. Its frames are in `walk`, `places` or `rewrites`. `omitted` is the reason
 * why the picture has no frames, or "". `order` is the order of placement. `lines` are the edges
 * of the drawing, each as the keys of two boxes. */
export interface LessonMotion {
  kind: MotionKind; omitted: string; order: string; matrices: LessonMatrix[]; walk: WalkFrame[];
  places: PlaceFrame[]; rewrites: RewriteFrame[]; drawing: GraphDrawing | null; lines: string[][];
}
/** The results of one block; `block` is its position in the lesson. Drawings are keyed by the
 * names of texts. `right` is the position of the right choice of a prediction, from 0; null for
 * predictions of numbers. */
export interface LessonBlock {
  block: number; name: string; kind: string; seconds: number; amounts: Record<string, LessonAmount>;
  texts: Record<string, string>; output: string; error: Problem | null;
  drawings: Record<string, GraphDrawing>; passes: LessonPass[]; measure: LessonMeasure[];
  cases: LessonCase[]; buffers: LessonBuffer[]; motion: LessonMotion | null; right: number | null;
}
/** The results of a lesson's blocks so far. `figures` has the text of each reference in the
 * prose, keyed by the reference. `seconds` is the time for measuring in each experiment. */
export interface LessonRun {
  lesson: string; seconds: number; n_blocks: number; blocks: LessonBlock[];
  figures: Record<string, string>;
}
/** The rewrite that made a difference, and the nodes that it took and made. */
export interface JudgedStep { rule: string; at: string; took: string[]; made: string[]; }
/** The smallest case on which an answer fails: graphs before and after, or a plan. `inputs`,
 * `expected` and `got` map names to arrays; `differs` is the first difference. */
export interface Counterexample {
  graph?: string; answer?: string; inputs?: Record<string, Any>; expected?: Record<string, Any>;
  got?: Record<string, Any>; differs?: string; step?: JudgedStep | null; problem?: string;
  plan?: string; drawings?: Record<string, GraphDrawing>;
}
/** A test of an answer. */
export interface JudgedTest {
  name: string; passed: boolean; message: string; counterexample?: Counterexample;
}
/** A deterministic score of a test, and the largest value that reaches the goal. */
export interface JudgedScore {
  test: string; name: string; value: number | null; unit: string; goal: number | null;
  reached: boolean;
}
/** The verdict on an answer, with its tests in order, and the output of the answer's code. */
export interface Judgement {
  verdict: JudgeVerdict; tests: JudgedTest[]; scores: JudgedScore[]; output: string;
  error?: Problem;
}
/** The solution of an exercise, and its discussion. */
export interface LessonSolution { solution: string; discussion: string; }
/** A place on the map; `name` is the folder of its lesson, "" if there is none yet. */
export interface CourseLesson {
  number: number; part: number; name: string; title: string; minutes: number;
  prerequisites: string[]; n_exercises: number;
}
/** The map of the course: the titles of its parts, and all places in order. */
export interface Course { parts: Record<string, string>; lessons: CourseLesson[]; }

// Results of checking a compiled model: errors of stages, of values, and of the program.

export type Mark = "ok" | "steps" | "wrong";
/** Errors of an output against the reference; `wide_error` and `ulps` are against the f64 model.
 * Errors are relative to the largest magnitude of the output; null for NaN and infinities. */
export interface CheckedOutput {
  name: string; max_abs_error: number | null; scale: number | null; relative_error: number | null;
  note: string; wide_error: number | null; ulps: number | null;
}
/** A computation of the model, with the errors of its worst output. */
export interface CheckedRun {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[];
}
/** A checked stage; the reference implementation computed its outputs. `moved` is the difference
 * between the outputs of this and the previous stage; `has_moved` is true if the outputs differ.
 * `n_moved` counts values that differ from the imported model's value of the same name.
 * `values_stage` is the stage under which the values are stored, null if no values are stored. */
export interface CheckedStage {
  mark: Mark; objection: string; seconds: number; relative_error: number | null;
  wide_error: number | null; ulps: number | null; outputs: CheckedOutput[]; stage: number;
  name: string; changed: boolean; has_moved: boolean; moved: number | null; n_moved: number;
  values_stage: number | null;
}
/** A rewrite that is wrong in isolation; `step` is the rewrite's index in its stage's steps, or
 * -1. */
export interface WrongRewrite {
  stage: number; step: number; pass_name: string; rule: string; at: string; kind: string;
  objection: string; relative_error: number | null;
}
/** Rewrites checked in isolation within the time limit; equal rewrites are checked once. */
export interface CheckedRewrites { n_applied: number; n_judged: number; wrong: WrongRewrite[]; }
/** The findings of a check so far. `yardstick` names the reference. `kinds` are the kinds of
 * inputs. `narrow` lists nodes that cannot be computed in f64; there are `n_narrow` such nodes. */
export interface Numerics {
  job: string; seed: number; yardstick: string; note: string; tolerance: number; allowed: number;
  in_codes: boolean; kinds: string[]; narrow: string[]; n_narrow: number; rows: CheckedStage[];
  program: CheckedRun | null; no_program: string; first_moved: number | null;
  first_wrong: number | null; rewrites: CheckedRewrites | null; broken: string;
  check_command: string; bisect_command: string;
}
/** Errors of a value against f64; `moved` is true if it differs from the imported model's value.
 * `node` is the id of the node that produces the value. `counts` is a histogram of elements by
 * error in ULP. `places` are the upper bounds of the bins, of which the last is unbounded. */
export interface CheckedValue {
  name: string; node: string; absolute_error: number | null; relative_error: number | null;
  ulps: number | null; moved: boolean; counts: number[];
}
/** Those values of a stage that also occur in the imported model, in evaluation order.
 * `n_values` counts all values of the stage. */
export interface CheckedValues {
  stage: number; tolerance: number; n_values: number; places: number[]; values: CheckedValue[];
}

// Comparisons of a compilation with other runtimes.

/** Another runtime. `install` is the command that installs the peer; `is_installed` is true if
 * the server has the peer. */
export interface Peer { name: string; title: string; is_installed: boolean; install: string; }
/** The runtimes with which programs can be compared. */
export interface Peers { peers: Peer[]; }
/** Times of a program and of another runtime, in interleaved rounds of one process. `ratio` is
 * the time of the peer relative to the program, and `low` to `high` its 99 % confidence
 * interval. `verdict` compares the peer with the program. `relative_error` is the largest
 * difference of the results, relative to the largest magnitude. */
export interface PeerComparison {
  peer: string; title: string; peer_version: string; verdict: Verdict; ratio: number; low: number;
  high: number; n_blocks: number; threads: number; seed: number; relative_error: number | null;
  disturbance: Disturbance; ours: RunTimes; theirs: RunTimes;
}

// Platforms, schedulers, and their schedules.

/** A memory of one or several devices; `nbytes` is its size, null if unlimited. */
export interface PlatformMemory {
  name: string; nbytes: number | null; keeps_weights: boolean; handover_seconds: number;
}
/** A device that runs one task at a time; it supports `operators`, or all operators if null. */
export interface PlatformDevice {
  name: string; memory: string; flops_per_second: number; bytes_per_second: number;
  seconds_per_kernel: number; operators: string[] | null;
}
/** A link between memories that performs at most `channels` transfers concurrently. */
export interface PlatformLink {
  name: string; joins: string[]; latency_seconds: number; bytes_per_second: number;
  channels: number;
}
/** Devices, memories and links; the memory `home` contains the inputs at the start and the
 * results at the end. */
export interface Platform {
  name: string; words: string; home: string; memories: PlatformMemory[]; devices: PlatformDevice[];
  links: PlatformLink[];
}
/** A scheduler; schedulers that are not quick search for a few seconds. */
export interface Scheduler { name: string; words: string; source: string; is_quick: boolean; }
/** The built-in platforms, and all schedulers. */
export interface Platforms { platforms: Platform[]; schedulers: Scheduler[]; }
/** The result of one scheduler; if it refused the tasks, the figures are null and `problem` is
 * set. `seconds` is the time of scheduling and simulation. */
export interface PlacementRow {
  scheduler: string; seconds: number; makespan_seconds: number | null; bound_seconds: number | null;
  n_moves: number; moved_bytes: number; problem: Problem | null;
}
/** The results of all schedulers for the same tasks; no schedule is shorter than
 * `bound_seconds`. */
export interface Placements {
  job: string; platform: string; ahead: number | null; contention: boolean; n_tasks: number;
  bound_seconds: number; one_device_seconds: number | null; rows: PlacementRow[];
}
/** A kernel on a device; `task` is the id of the kernel's node. Units: seconds. */
export interface PlacedTask {
  task: string; device: string; start: number; end: number; operators: string[]; origins: string[];
  is_critical: boolean;
}
/** A transfer of a value. Units: seconds. `task` is the task that produces the value or, for an
 * input, its first reader. */
export interface PlacedMove {
  datum: string; link: string; source: string; to: string; start: number; end: number;
  nbytes: number; task: string; is_critical: boolean;
}
/** A simulated run. `held_bytes` maps each memory to pairs: a time, and the bytes in use from
 * this time on. */
export interface Placement {
  scheduler: string; platform: string; makespan_seconds: number; bound_seconds: number;
  ahead: number | null; notes: string[]; peak_bytes: Record<string, number>;
  busy_seconds: Record<string, number>; held_bytes: Record<string, [number, number][]>;
  tasks: PlacedTask[]; moves: PlacedMove[];
}

// The measured time of each kernel of a run, with lower bounds for this machine.

export type Cause = "waiting" | "steal" | "busy" | "shared";
export type Level = "L1" | "L2" | "L3" | "DRAM";
export type Unit = "f32" | "int8" | "bf16" | "int8_tiles" | "bf16_tiles";
/** Peak speed of one core with one of its multiplication units. `is_used` is true if this run
 * uses the unit. */
export interface Peak { unit: Unit; flops_per_second: number; is_used: boolean; }
/** Bandwidth of one core from a memory level; `bytes` is the level's size, null for main memory. */
export interface MemoryLevel { level: Level; bytes: number | null; bytes_per_second: number; }
/** The speeds of one core, measured at the time `measured` (Unix seconds) or estimated. `call_s`
 * is the overhead of a separate kernel launch, included in every kernel time. */
export interface Machine {
  name: string; features: string[]; n_processors: number; is_measured: boolean;
  measured: number | null; peaks: Peak[]; levels: MemoryLevel[]; call_s: number;
}
/** The use of the processors during a measurement; figures that the system does not give are
 * null. `busy_processors` is the mean number of processors that other processes used, of
 * `n_processors`. `waiting_share` is the share of the time in which the measuring thread had no
 * processor. `steal_share` is the share of all processor time that the hypervisor took. `causes`
 * has the reasons to distrust the times; an empty list means an undisturbed measurement.
 * `machine` is the name of the machine: times of different machines are not comparable. `words`
 * describes these figures. */
export interface Disturbance {
  threads: number; n_processors: number; busy_processors: number | null;
  waiting_share: number | null; steal_share: number | null; causes: Cause[]; machine: string;
  words: string;
}
/** Median, minimum, and the 95 % confidence interval of the median, `low_s` to `high_s`. */
export interface Times { median_s: number; min_s: number; low_s: number; high_s: number; }
/** Times of whole runs. A tenth of the runs took longer than `slow_s` seconds. */
export interface RunTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; slow_s: number; repeats: number;
}
/** Whole runs of a profile; `flops_per_s` is the speed of the median run. */
export interface ProfiledRun {
  median_s: number; min_s: number; low_s: number; high_s: number; slow_s: number; repeats: number;
  flops_per_s: number | null;
}
/** An action that can make a kernel faster; `words` describes it. */
export interface NextAction {
  action: "fuse" | "batch" | "threads" | "precision" | "layout" | "schedule" | "tune" | "assembly" | "reference" | "again";
  words: string;
}
/** The cause of a kernel's time. `title` names the cause, and `words` is its definition.
 * `evidence` has the figures of the kernel. */
export interface Diagnosis {
  cause: string; title: string; words: string; evidence: string; actions: NextAction[];
}
/** A kernel, timed separately `repeats` times, with its roofline. `share` is the kernel's part
 * of the time of all kernels. `predicted_s` is the lower bound of the kernel's time with a
 * separate call, `roof_s` without the call. `ratio` is the median divided by `predicted_s`, and
 * `potential_s` the time above `roof_s` and a measured call. `ceiling_flops_per_s` is the speed
 * at `roof_s`, and `reached` is `roof_s` divided by the median. `bytes` counts the bytes read
 * and written. `traffic` divides the bytes among the memory levels that are expected to supply
 * or receive them. `shares` divides the kernel's time among ONNX nodes by their predicted
 * operations and bytes. `diagnosis` is the cause of the time. `fewer_products`: Winograd
 * computes the kernel with fewer products than `flops` counts. */
export interface KernelTimes {
  median_s: number; min_s: number; low_s: number; high_s: number; share: number;
  predicted_s: number | null; roof_s: number | null; bound: Bound | ""; ratio: number | null;
  potential_s: number | null; flops_per_s: number | null; flops_per_byte: number | null;
  ceiling_flops_per_s: number | null; reached: number | null; kernel: number; unit: Unit | "";
  flops: number; bytes: number; traffic: Partial<Record<Level, number>>; fewer_products: boolean;
  shares: Record<string, number>; diagnosis: Diagnosis;
}
/** Figures of all kernels together, in seconds. `kernels_s` is the sum of the medians, and
 * `predicted_s` the sum of the bounds, both with separate calls. `outside_s` is the median run
 * minus `kernels_s`. `run_bound_s` is the lower bound of a whole run, with a single call.
 * `potential_s` is the sum of the potentials, at most the median run minus its bound. `call_s`
 * is the time that a separate call adds, as measured. */
export interface Totals {
  kernels_s: number; predicted_s: number; run_bound_s: number; potential_s: number;
  outside_s: number; call_s: number;
}
/** Interleaved times of whole runs and of each kernel, on the same random inputs. */
export interface Profile {
  threads: number; seed: number; machine: Machine; disturbance: Disturbance; run: ProfiledRun;
  totals: Totals; kernels: KernelTimes[];
}

// Runs of a compiled model on given inputs.

/** An input of a run: from the file of this name, or random if `file` is "". */
export interface RunInput { name: string; type: string; file: string; }
/** One of the largest elements of a vector of classes; `share` is its probability. If the
 * elements are not probabilities, `share` is the element's softmax. */
export interface RunClass { index: number; value: number; share: number; }
/** An output of a run: its range, its first elements as text, and its largest classes.
 * `is_stored` is true if the output can be downloaded. Sequences have no range. */
export interface RunOutput {
  output: number; name: string; type: string; n_elements: number; bytes: number; is_stored: boolean;
  minimum: number | null; maximum: number | null; mean: number | null; n_not_finite: number;
  first: string[]; are_probabilities: boolean; classes: RunClass[];
}
/** A run of the program of compilation `job`; `times` and `disturbance` are null until the run
 * is timed. `has_profile` is true if the run has times of the compilation's kernels. */
export interface RunResult {
  job: string; seed: number; inputs: RunInput[]; outputs: RunOutput[]; times: ProfiledRun | null;
  disturbance: Disturbance | null; has_profile: boolean;
}

// Edited schedules.

export type MoveLevel = "stages" | "nest";
/** A parameter of a move: its kind, with a description; an `is_rest` parameter takes any number
 * of arguments. */
export interface MoveParameter { name: string; kind: string; words: string; is_rest: boolean; }
/** A move of the schedule language; `level` says whether the move transforms loops or stages. */
export interface Move {
  name: string; signature: string; words: string; level: MoveLevel; parameters: MoveParameter[];
}
/** All moves, the `steps` to which `tensorize` maps loops, and the maximum number of
 * `characters` of a schedule. */
export interface Moves { characters: number; steps: string[]; moves: Move[]; }
/** The text of an edited schedule. */
export interface ScheduleToCheck { text: string; }
/** The loops of a nest after a line of the schedule, and the tensors that the nest reads. The
 * loops are listed outermost first. Line 0 is the state before the first move. */
export interface NestAt { nest: string; line: number; loops: string[]; tensors: string[]; }
/** The result of parsing a schedule: its problems, and the nests after each valid line. */
export interface CheckedSchedule {
  problems: Problem[]; n_moves: number; stages: string[]; nests: NestAt[];
}
/** A kernel at each level; `cut` counts omitted lines, and the other counts describe the
 * listing. */
export interface ScheduledCode {
  schedule: string; loops: string; llvm: string; asm: string; cut: number; links: TargetLinks;
  n_instructions: number; n_spills: number | null; n_bytes: number;
}
/** The difference of a result between the original and edited schedule, on the same operands. */
export interface ComparedOutput {
  name: string; agrees: boolean; max_abs_error: number; scale: number;
}
/** The time of one call: the median, and its 95 % confidence interval. Units: seconds. */
export interface CallTime { median_s: number; low_s: number; high_s: number; }
/** Interleaved times of the original and edited kernel on one thread; `ratio` is edited over
 * original time. `low` to `high` is the confidence interval of the ratio. The addresses of code
 * and data change a ratio by up to about `noise` from run to run. */
export interface SchedulesInTurns {
  machine: string; rounds: number; noise: number; ratio: number; low: number; high: number;
  original: CallTime; edited: CallTime;
}
/** Comparison of the original and edited schedule; `times` is null before the run, or if results
 * differ. */
export interface ScheduleVerdict { outputs: ComparedOutput[]; times: SchedulesInTurns | null; }
/** A kernel with the edited and the original schedule; `because` is the reason if it was not
 * run. */
export interface EditedKernel {
  outputs: ComparedOutput[]; times: SchedulesInTurns | null; job: string; kernel: number;
  name: string; text: string; original: ScheduledCode; edited: ScheduledCode; because: string;
}

// Short links.

/** The state of the page to share: the fragment of its URL, after the #. */
export interface LinkRequest { fragment: string; }
/** A short link: the state in normal form, and the request of the compared job. `made_with` is
 * the program version that created the link, `program` the current version. Times are in Unix
 * seconds. */
export interface SharedLink {
  id: string; path: string; fragment: string; other: JobRequest | null; made_with: string;
  program: string; created: number;
}

// Graphs by stage, steps, texts, the drawing, and provenance.

export type GroupKind = "scope" | "repeat" | "block" | "stretch" | "region" | "body";
export type DiffMark = " " | "-" | "+" | "…";
export type Outcome = "applied" | "declined";
export type StorageKind = "splat" | "seeded" | "literal" | "blob" | "file";
export type Edge = [string, string, number, string];
export type Span = [number, number, string];
export type Inside = [string, string];
export type DiffRow = [DiffMark, number | null, number | null, string];
/** A node, an input or a result of a graph, or of a body of a control-flow node. The `id` of a
 * node is its first output in the stage that created it. The node keeps its id when it computes
 * another value later. For a node in a body, `inside` is the id of the control-flow node and the
 * name of its region. The `id` of such a node is the way to the body, followed by the first
 * output; `outputs` and `inputs` have the names of the body. `regions` has the body of a fusion. */
export interface GraphNode {
  id: string; kind: "node" | "input" | "result"; name: string; op: string; family: string;
  outputs: string[]; types: string[]; inputs: string[]; attrs: Record<string, string>;
  origins: string[]; regions: Record<string, Region>; inside?: Inside;
}
/** A constant: listed, but not drawn. Inside a body, nodes read it under the name `value`. */
export interface GraphConstant {
  name: string; type: string; storage: StorageKind; text: string; bytes: number;
  stored_bytes: number; origins: string[]; readers: string[]; value?: string;
}
/** A graph inside a node: the body of a fusion. */
export interface Region { nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[]; }
/** The nodes and constants that differ from the previous stage. Only the types of `refined`
 * nodes differ: open sizes became numbers, or an open rank is known. */
export interface Marks { added: string[]; changed: string[]; refined: string[]; removed: string[]; }
/** The stage of a graph, and the nodes and constants that the pass of this stage changed. */
export interface StageFacts {
  added: string[]; changed: string[]; refined: string[]; removed: string[]; stage: number;
  graph_stage: number; name: string;
}
/** The graph of a stage, with the nodes in bodies of control flow; a node precedes its bodies.
 * An edge is [from, to, operand, value]; an edge from a captured value leads into the body. */
export interface StageGraph {
  added: string[]; changed: string[]; refined: string[]; removed: string[]; stage: number;
  graph_stage: number; name: string; nodes: GraphNode[]; edges: Edge[]; constants: GraphConstant[];
}
/** The delta from the graph of stage `against` (-1: the empty graph) to the graph of a stage. A
 * piece is [start, end, items]: the old items from start to before end, then new items. */
export interface StageDelta {
  added: string[]; changed: string[]; refined: string[]; removed: string[]; stage: number;
  graph_stage: number; name: string; against: number; nodes: [number, number, GraphNode[]][];
  edges: [number, number, Edge[]][]; constants: [number, number, GraphConstant[]][];
}
/** The savings of a rewrite according to the declared costs; negative numbers are extra costs.
 * `bytes` is the sum of `bytes_written` and `bytes_read`; `seconds` is a roofline estimate, for
 * values in the memory level `supplied_by`. */
export interface Saved {
  flops: number; bytes: number; bytes_written: number; bytes_read: number; seconds: number;
  supplied_by: Level;
}
/** An applied or declined rewrite; `at`, `took` and `made` are ids of nodes and constants.
 * `error` bounds the change of results, relative to their scale; `seconds` is the compile time
 * of the step. */
export interface Step {
  rule: string; outcome: Outcome; because: string; at: string; took: string[]; made: string[];
  exact: boolean; error: number; source: string; seconds: number; saves: Saved | null;
}
/** A page of the list of a pass's steps; `n_dropped` steps beyond the limit were not stored. */
export interface Steps {
  stage: number; n_steps: number; n_dropped: number; offset: number; steps: Step[];
}
/** A text of `n_lines` lines, of which the last `cut` are omitted. */
export interface CutText { n_lines: number; cut: number; text: string; }
/** A stage's graph as text; a span is [first line, number of lines, id]. */
export interface StageText {
  n_lines: number; cut: number; text: string; stage: number; graph_stage: number; spans: Span[];
}
/** The diff of two texts; a row is [mark, old line, new line, text], with lines counted from 0.
 * A row ["…", n, null, ""] stands for n equal lines. */
export interface TextDiff { n_added: number; n_removed: number; cut: number; rows: DiffRow[]; }
/** The diff of the texts of two stages; `against` is the stage of the old text. */
export interface StageDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; stage: number; against: number;
}
/** A node of the drawing, in a group; the node exists in the half-open ranges `stages`. Units:
 * px. The `group` of a control-flow node is the group of its bodies, which is drawn in its
 * place. */
export interface UnionNode {
  key: string; id: string; stages: [number, number][]; group: string; width: number; height: number;
}
/** A group of nodes and groups, drawn as one box while closed, and laid out by `dot` while open.
 * Units: px. A group of kind `region` contains the bodies of a control-flow node; `node` is the
 * id of this node. */
export interface UnionGroup {
  key: string; label: string; kind: GroupKind; times: number; group: string; open: boolean;
  width: number; height: number; dot: string; node?: string;
}
/** The nodes of all stages in one drawing, as nested DOT texts without names of the model. */
export interface Union {
  dot: string; n_nodes: number; n_drawn: number; collapsed: boolean; nodes: UnionNode[];
  groups: UnionGroup[];
}
/** The effect of the move in a line of a schedule, and the loops of the nest after the move. */
export interface ScheduleStep { words: string; outline: string; }
/** One level of one kernel as text; `steps` has an entry for each line of a schedule. */
export interface KernelText {
  n_lines: number; cut: number; text: string; kernel: number; part: KernelPart;
  steps: ScheduleStep[];
}
/** A kernel of a job, as one side of a comparison. */
export interface KernelOfJob { job: string; kernel: number; }
/** The diff of two kernels at one level; `against` is the kernel of the old text. */
export interface KernelDiff {
  n_added: number; n_removed: number; cut: number; rows: DiffRow[]; part: KernelPart;
  kernel: number; against: KernelOfJob;
}
/** Links between the lines of a kernel's texts; a list is empty if its links are unknown. `llvm`
 * maps each line of LLVM IR to the line of Loop IR that it implements; `asm` maps each line of
 * assembly to a line of LLVM IR. Lines count from 0; -1 stands for no link. */
export interface KernelLinks { kernel: number; llvm: number[]; asm: number[]; }
/** A step of the ledger that concerns two neighbouring nodes, and the stage of its pass. */
export interface Chapter {
  stage: number; pass_name: string; rule: string; outcome: Outcome; at: string; because: string;
}
/** A node and its reader in the model, with the fusion verdict and the reason. */
export interface Neighbour {
  maker: string; reader: string; verdict: "together" | "apart" | "not neighbours" | "gone";
  because: string; chapters: Chapter[];
}
/** The fusion verdicts of all edges of the model. */
export interface Neighbours { edges: Neighbour[]; }
/** An ONNX node; `nodes` and `constants` list the ids of its descendants by stage. */
export interface OnnxNode {
  name: string; op: string; nodes: Record<string, string[]>; constants: Record<string, string[]>;
  kernels: number[]; buffers: number[]; functions: string[];
}
/** For each ONNX node, the resulting nodes of each stage, kernels, buffers and functions. */
export interface Provenance { onnx: OnnxNode[]; }

// A kernel's code for several machines.

/** A class of instructions, with its description. */
export interface InstructionClass { name: string; words: string; }
/** The instructions of the kernel for one machine. Counts are static: each instruction of the
 * listing counts once. Counts of registers are null for machines without registers, such as
 * WebAssembly. If no code was generated, all counts are null, and `because` is the reason. */
export interface TargetRow {
  target: string; triple: string; vector_bytes: number; n_vector_registers: number; seconds: number;
  because: string; counts: Record<string, number>; n_instructions: number | null;
  widest_bytes: number | null; n_registers: number | null; n_spills: number | null;
  n_bytes: number | null;
}
/** The instruction counts of a kernel for all machines. */
export interface Targets {
  job: string; kernel: number; name: string; classes: InstructionClass[]; rows: TargetRow[];
}
/** Each line's counterpart at the level above, as a line number (from 0), or -1 for none. */
export interface TargetLinks { llvm: number[]; asm: number[]; }
/** A kernel at each level; `cut` counts omitted lines. */
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
/** A computation whose schedules are searched: its kernels, the policy's schedule, and the best
 * schedule found. Seconds are times per call from an interleaved measurement, and null before
 * this measurement. `because` is the reason if the best schedule is not stored. */
export interface TunedKernel {
  name: string; kernels: number[]; share: number; policy: string; schedule: string;
  untuned_s: number | null; tuned_s: number | null; kept: boolean; because: string;
  why_stopped: string;
}
/** A candidate schedule. `kernel` is an index into `kernels`. `ratio` is the time of the
 * candidate divided by the time of the policy's schedule. */
export interface TuneTrial {
  kernel: number; number: number; outcome: TrialOutcome; words: string; ratio: number | null;
  expected: number | null; best: number; schedule: string;
}
/** Interleaved whole runs: minimum times, and the speed-up with its 95 % confidence interval. */
export interface TunedModel {
  untuned_s: number; tuned_s: number; ratio: number | null; low: number | null; high: number | null;
  rounds: number;
}
/** The state of a search. */
export interface Tuning {
  job: string; kernel: number | null; search: SearchName; budget_seconds: number;
  searching_seconds: number; machine: string; kernels: TunedKernel[]; trials: TuneTrial[];
  model?: TunedModel | null;
}

// Written models.

export type Language = "ir" | "py";
/** The text of a model, in the text form of graphs or in Python. */
export interface TextToCheck { language: Language; text: string; }
/** The value defined by a line; lines count from 1. */
export interface TextLine { line: number; name: string; type: string; }
/** The result of reading a model's text: the problems of the text, or the number of nodes of the
 * model. `ir` is the model in the text form of graphs, "" if the text has errors or `ir` would
 * be too long. */
export interface CheckedText {
  problems: Problem[]; lines: TextLine[]; n_nodes: number | null; ir: string;
}
/** A function that creates constants, in addition to the operators. */
export interface ConstantMaker { name: string; signature: string; words: string; }
/** An example of a written model. */
export interface TextExample { name: string; language: Language; words: string; text: string; }
/** Help for writing models; `characters` is the maximum length of a text. */
export interface Writing {
  languages: string[]; characters: number; makers: ConstantMaker[]; examples: TextExample[];
}

// Requests of jobs about another job's result, and their bodies.

export type Asked = PlaceRequest | CheckRequest | BisectRequest | ProfileRequest | ComparisonRequest | PeerRequest | TargetsRequest | TuneRequest | ScheduleRequest | ExportRequest | RunRequest;
/** The request of a placement; `job` is the compilation of the model. */
export interface PlaceRequest {
  kind: "place"; job: string; platform: string; scheduler: string; ahead: number | null;
  contention: boolean;
}
/** The request of a check; `job` is the compilation of the model. */
export interface CheckRequest { kind: "check"; job: string; seed: number; }
/** The request of a bisection job; `job` is the compilation of the model. */
export interface BisectRequest { kind: "bisect"; job: string; seed: number; moved: number | null; }
/** The request of a repeated measurement; `job` is the compilation of the model. */
export interface ProfileRequest { kind: "profile"; job: string; seconds: number; machine: boolean; }
/** The request of a comparison of two compilations, `job` (A) and `other` (B). `again` measures
 * even if an equal comparison is stored. The stored request omits this flag, so later requests
 * find the newest of all measurements of A and B. */
export interface ComparisonRequest {
  kind: "comparison"; job: string; other: string; seconds: number; again: boolean;
}
/** The request of a comparison with another runtime; `job` is the compilation of the model. */
export interface PeerRequest { kind: "peer"; job: string; peer: string; seconds: number; }
/** The request of a kernel's code for all targets; `job` is the compilation of the model. */
export interface TargetsRequest { kind: "targets"; job: string; kernel: number; }
/** The request of a tuning job; `job` is the compilation of the model. */
export interface TuneRequest {
  kind: "tune"; job: string; budget_seconds: number; search: SearchName; kernel: number | null;
  seed: number;
}
/** The request of a run with an edited schedule; `job` is the compilation of the model. */
export interface ScheduleRequest { kind: "schedule"; job: string; kernel: number; text: string; }
/** The request of an export; `job` is the compilation of the model. */
export interface ExportRequest { kind: "export"; job: string; stage: number; fused: boolean; }
/** The request of a run on given inputs; `job` is the compilation of the model. */
export interface RunRequest {
  kind: "run"; job: string; inputs: Record<string, string>; seconds: number;
}
/** Platform and scheduler. Operands are prefetched `ahead` tasks before their use; null means as
 * early as possible. */
export interface PlaceOptions {
  platform: string; scheduler?: string; ahead?: number | null; contention?: boolean;
}
/** The seed of the random inputs; default: the seed of the compilation. */
export interface CheckOptions { seed?: number; }
/** The fault to search for: a change of a result by more than the fraction `moved` of its scale;
 * if `moved` is null, errors beyond rounding. `seed` is the seed of the random inputs. */
export interface BisectOptions { seed?: number; moved?: number | null; }
/** Approximate duration in seconds; `machine`: measure the speeds of the machine first. */
export interface ProfileOptions { seconds?: number; machine?: boolean; }
/** The compilation B, and the minimum duration in seconds. */
export interface ComparisonOptions { other: string; seconds?: number; again?: boolean; }
/** The other runtime, and the minimum duration in seconds. */
export interface PeerOptions { peer: string; seconds?: number; }
/** The kernel to compile. */
export interface TargetOptions { kernel: number; }
/** Duration, method and kernel; by default all kernels, the slowest first. */
export interface TuneOptions {
  budget_seconds?: number; search?: SearchName; kernel?: number | null; seed?: number;
}
/** The kernel to run, and its schedule. */
export interface ScheduleOptions { kernel: number; text: string; }
/** `fused`: export each fusion as a function of the model, not as separate operators. */
export interface ExportOptions { fused?: boolean; }
/** For each given input, the id of its uploaded .npy file; other inputs are random. Duration of
 * the timing in seconds, 0 for no timing. */
export interface RunOptions { inputs: Record<string, string>; seconds?: number; }
