// Tests of the moment at which a view of a lesson loads.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { IN_SIGHT_MS, createGate } from "../../../static/js/course/gate.js";

/** @param {(gate: ReturnType<typeof createGate>, opened: () => number) => void} check */
function withGate(check) {
  mock.timers.enable({ apis: ["setTimeout"] });
  let n = 0;
  check(createGate(() => n++), () => n);
  mock.timers.reset();
}

test("a view loads once, when it has been in sight for a moment after the experiments", () => {
  withGate((gate, opened) => {
    gate.see(true);
    mock.timers.tick(10 * IN_SIGHT_MS);
    assert.equal(opened(), 0, "the experiments still run");
    gate.allow(true);
    mock.timers.tick(IN_SIGHT_MS - 1);
    assert.equal(opened(), 0);
    mock.timers.tick(1);
    assert.equal(opened(), 1);
    for (const next of [false, true]) gate.see(next);
    for (const next of [false, true]) gate.allow(next);
    mock.timers.tick(10 * IN_SIGHT_MS);
    assert.equal(opened(), 1);
  });
});

test("a reader who leafs through the steps loads no view", () => {
  withGate((gate, opened) => {
    gate.allow(true);
    for (let i = 0; i < 5; i++) {
      gate.see(true);
      mock.timers.tick(IN_SIGHT_MS / 2);
      gate.see(false);
      mock.timers.tick(IN_SIGHT_MS);
    }
    assert.equal(opened(), 0);
  });
});

test("repeated news about the run do not delay a view", () => {
  withGate((gate, opened) => {
    gate.see(true);
    for (let i = 0; i < 4; i++) {
      gate.allow(true);
      mock.timers.tick(IN_SIGHT_MS / 4);
    }
    assert.equal(opened(), 1);
  });
});
