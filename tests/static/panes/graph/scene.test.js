import assert from "node:assert/strict";
import test from "node:test";
import { placeUnion } from "../../../../static/js/graph/places.js";
import { buildScene, sceneSteps } from "../../../../static/js/graph/scene.js";
import { EMPTY } from "../../../../static/js/state/page.js";
import { createScenes } from "../../../../static/js/panes/graph/scene.js";
import { createState } from "../../../../static/js/state/state.js";
import { inTimeSlices, nextTask } from "../../../../static/js/elements/scheduling.js";

/**
 * @typedef {import("../../../../static/js/wire.js").StageGraph} StageGraph
 * @typedef {import("../../../../static/js/panes/graph/scene.js").Made} Made
 */

const N = 3000;
const ids = Array.from({ length: N }, (_, i) => `v${i}`);

/** A chain of nodes, of which a stage has changed some. @param {number} stage @returns {StageGraph} */
function chain(stage) {
  return {
    stage,
    graph_stage: stage,
    name: `pass ${stage}`,
    constants: [],
    added: [],
    changed: ids.filter((_, i) => stage > 0 && i % 7 === stage),
    refined: [],
    removed: [],
    nodes: ids.map((id, i) => ({
      id,
      kind: "node",
      name: id,
      op: i % 2 ? "relu" : "add",
      family: "elementwise",
      outputs: [id],
      types: ["f32[1,64]"],
      inputs: i ? [ids[i - 1]] : [],
      attrs: {},
      origins: [id],
      regions: {},
    })),
    edges: ids.slice(1).map((id, i) => [ids[i], id, 0, ids[i]]),
  };
}

const stages = [chain(0), chain(1), chain(2)];
const union = {
  dot: "",
  n_nodes: N,
  n_drawn: N,
  collapsed: false,
  groups: [],
  nodes: ids.map((id, i) => ({ key: `n${i}`, id, stages: /** @type {[number, number][]} */ ([[0, 3]]), group: "", width: 100, height: 40 })),
};
/** The same chain from the top down, with this much room for a node. @param {number} room */
const placesOf = (room) =>
  placeUnion(
    union,
    new Set(),
    new Map([
      [
        "",
        {
          width: 100,
          height: N * room,
          nodes: ids.map((_, i) => ({ key: `n${i}`, x: 50, y: i * room, w: 100, h: 40 })),
          edges: ids.slice(1).map((_, i) => ({
            from: `n${i}`,
            to: `n${i + 1}`,
            path: [50, i * room, 50, i * room, 50, (i + 1) * room, 50, (i + 1) * room],
            tip: null,
          })),
        },
      ],
    ]),
  );
const places = placesOf(60);

/** The page at a stage that was walked to. @param {number} stage */
const at = (stage) => ({ stage, graph: stages[stage], before: stages[stage - 1] ?? null });
const result = /** @type {any} */ ({ stages: stages.map(({ graph_stage }) => ({ graph_stage })) });

/** @param {number} stage @returns {import("../../../../static/js/state/page.js").PageState} */
function pageAt(stage) {
  /** @type {import("../../../../static/js/state/page.js").Page} */
  const page = { ...EMPTY, ...at(stage), result };
  return createState(page);
}

test("a scene is the same when built in time slices, and no slice processes all nodes", async () => {
  const whole = buildScene(places, stages[0], stages[1], "diff", true);
  assert.equal(whole.nodes.filter(({ status }) => status === "changed").length, stages[1].changed.length);
  assert.deepEqual(await inTimeSlices(sceneSteps(places, stages[0], stages[1], "diff", true), () => true), whole);
  // The segments of edges of a scene are cached: without the cache, a scene takes more steps.
  const n_steps = [...sceneSteps(placesOf(60), stages[0], stages[1], "diff", true)].length;
  assert.ok(n_steps > 6 * (N / 1000), `${n_steps} steps`);
});

test("a user who steps on while a scene is built gets only the last scene", async () => {
  const state = pageAt(0);
  /** @type {Made[]} */
  const taken = [];
  const scenes = createScenes(state, (made) => taken.push(made));
  assert.deepEqual(taken.map(({ scene }) => scene), [null]);
  const placed = scenes.place(places, union);
  state.set(at(1));
  state.set(at(2));
  await placed;
  // The scene is ready when the layout ends, although it was requested later.
  assert.deepEqual(taken.slice(1).map(({ stage, scene }) => [stage, scene?.pass.after]), [[2, stages[2]]]);
  assert.equal(taken[1].union, union);
  scenes.stop();
});

test("neighbouring scenes are built in idle time and used without another task", async (t) => {
  /** @type {(() => void)[]} */
  const idle = [];
  globalThis.requestIdleCallback = (work) => idle.push(() => work({ didTimeout: false, timeRemaining: () => 10 }));
  t.after(() => Reflect.deleteProperty(globalThis, "requestIdleCallback"));
  /** Runs idle callbacks until none is left. */
  const rest = async () => {
    do {
      idle.shift()?.();
      await nextTask();
    } while (idle.length);
  };
  // No idle callback runs more than one step.
  let now = 0;
  t.mock.method(performance, "now", () => (now += 100));
  const state = pageAt(1);
  state.set({
    parts: /** @type {any} */ ({ graph: async (/** @type {number} */ stage) => stages[stage] }),
    result: /** @type {any} */ ({ stages: stages.map((each, stage) => ({ ...each, changed: stage > 0 })) }),
  });
  /** @type {Made[]} */
  const taken = [];
  const scenes = createScenes(state, (made) => taken.push(made));
  const here = placesOf(65);
  await scenes.place(here, union);
  for (const stage of [2, 1, 0]) {
    await rest();
    state.set(at(stage));
    for (let i = 0; i < 10; i++) await null;
    assert.equal(taken.at(-1)?.stage, stage);
    const { graph, before } = at(stage);
    assert.deepEqual(taken.at(-1)?.scene, buildScene(here, before, graph, "diff", stage > 0));
  }
  scenes.stop();
});

test("a new layout cancels the scene of the old layout, and removing the layout cancels both", async () => {
  const state = pageAt(1);
  /** @type {Made[]} */
  const taken = [];
  const scenes = createScenes(state, (made) => taken.push(made));
  const [old, next] = [placesOf(50), placesOf(70)];
  await Promise.all([scenes.place(old, union), scenes.place(next, union)]);
  assert.deepEqual(taken.slice(1).map(({ scene }) => scene?.places === next), [true]);
  const last = scenes.place(old, union);
  void scenes.place(null, null);
  await last;
  assert.equal(taken.at(-1)?.scene, null);
  assert.equal(taken.length, 3);
  scenes.stop();
});

test("a stopped view accepts no further scene", async () => {
  const state = pageAt(1);
  /** @type {Made[]} */
  const taken = [];
  const scenes = createScenes(state, (made) => taken.push(made));
  const placed = scenes.place(placesOf(40), union);
  scenes.stop();
  await placed;
  state.set(at(2));
  assert.deepEqual(taken.map(({ scene }) => scene), [null]);
});
