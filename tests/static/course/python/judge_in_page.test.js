// Tests of judging in the page, with a worker whose messages the test decides.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createJudge, NoPython } from "../../../../static/js/course/python/judge_in_page.js";
import { pythonWorker } from "../../../../static/js/course/python/python_worker.js";
import { STAGES } from "../../../../static/js/course/python/stages.js";

const REQUEST = { exercise: { id: "x/1" }, files: { "solution.py": "" }, seed: 1 };
const PASSED = { version: 1, verdict: "passed" };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Workers that answer only when the test says so. */
function workers() {
  const made = /** @type {any[]} */ ([]);
  const create = () => {
    const worker = {
      tasks: /** @type {any[]} */ ([]),
      isEnded: false,
      onmessage: /** @type {any} */ (null),
      onerror: /** @type {any} */ (null),
      postMessage: (/** @type {any} */ task) => worker.tasks.push(task),
      terminate: () => (worker.isEnded = true),
      say: (/** @type {any} */ data) => worker.onmessage({ data }),
    };
    made.push(worker);
    return worker;
  };
  const judge = createJudge(
    async () => true,
    () => pythonWorker(create, 0),
  );
  return { made, judge };
}

test("the stages of the start and the answer arrive, and the worker serves the next answer", async () => {
  const { made, judge } = workers();
  const stages = /** @type {string[]} */ ([]);
  const first = judge.judge(REQUEST, { onStage: (stage) => stages.push(stage) });
  await settled();
  const [worker] = made;
  for (const stage of ["packages", "compiler", "ready"]) worker.say({ stage });
  worker.say({ id: 1, started: true });
  worker.say({ id: 1, answer: PASSED });
  assert.deepEqual(await first, PASSED);
  assert.deepEqual(stages, STAGES);
  const second = judge.judge(REQUEST);
  await settled();
  worker.say({ id: 2, started: true });
  worker.say({ id: 2, answer: PASSED });
  assert.deepEqual(await second, PASSED);
  assert.equal(made.length, 1);
});

test("one answer is judged after the other", async () => {
  const { made, judge } = workers();
  const both = Promise.all([judge.judge(REQUEST), judge.judge(REQUEST)]);
  await settled();
  assert.deepEqual(made[0].tasks.map((/** @type {any} */ task) => task.id), [1]);
  made[0].say({ id: 1, answer: PASSED });
  await settled();
  made[0].say({ id: 2, answer: { ...PASSED, verdict: "failed" } });
  assert.deepEqual((await both).map(({ verdict }) => verdict), ["passed", "failed"]);
});

test("an endless answer ends its worker after the limit, and another worker starts at once", async () => {
  const { made, judge } = workers();
  const endless = judge.judge(REQUEST, { seconds: 0.01 });
  await settled();
  made[0].say({ id: 1, started: true });
  const { verdict, error } = await endless;
  assert.equal(verdict, "timeout");
  assert.equal(error.code, "E-LIMIT-SECONDS");
  assert.match(error.message, /more than 0\.01 s/);
  assert.equal(made[0].isEnded, true);
  assert.equal(made.length, 2);
  const next = judge.judge(REQUEST);
  await settled();
  made[1].say({ id: 1, started: true });
  made[1].say({ id: 1, answer: PASSED });
  assert.deepEqual(await next, PASSED);
});

test("the limit counts from the start of the judgement, not of the loading", async () => {
  const { made, judge } = workers();
  const answer = judge.judge(REQUEST, { seconds: 0.02 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  made[0].say({ id: 1, started: true });
  made[0].say({ id: 1, answer: PASSED });
  assert.deepEqual(await answer, PASSED);
});

for (const [what, happens] of /** @type {[string, (worker: any) => void][]} */ ([
  ["cannot start Python", (worker) => worker.say({ failed: "no memory" })],
  ["breaks", (worker) => worker.say({ id: 1, problem: "RuntimeError: unreachable" })],
  ["cannot be loaded", (worker) => worker.onerror({ message: "404" })],
])) {
  test(`a worker that ${what} is replaced, and the server judges`, async () => {
    const { made, judge } = workers();
    const answer = judge.judge(REQUEST);
    await settled();
    happens(made[0]);
    await assert.rejects(answer, NoPython);
    assert.equal(made[0].isEnded, true);
    const next = judge.judge(REQUEST);
    await settled();
    made[1].say({ id: 1, answer: PASSED });
    assert.deepEqual(await next, PASSED);
  });
}

test("an exercise that the page cannot judge goes to the server with its reason", async () => {
  const { made, judge } = workers();
  const answer = judge.judge(REQUEST);
  await settled();
  made[0].say({ id: 1, answer: { server: "the page has no arithmetic of bf16" } });
  await assert.rejects(answer, /no arithmetic of bf16/);
  assert.equal(made[0].isEnded, false);
});

for (const isAvailable of [async () => false, () => Promise.reject(new TypeError("offline"))]) {
  test("without Python for the page, no worker starts", async () => {
    const judge = createJudge(isAvailable, () => assert.fail("a worker started"));
    judge.warm();
    await assert.rejects(judge.judge(REQUEST), NoPython);
  });
}
