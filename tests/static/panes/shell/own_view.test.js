// Tests of what a view in a frame tells the page of this site around it.
import assert from "node:assert/strict";
import test from "node:test";
import { viewState } from "../../../../static/js/panes/shell/own_view.js";
import { EMPTY } from "../../../../static/js/state/page.js";

const PROBLEM = { code: "E-SERVER-AWAY", message: "the server did not answer" };
const RESULT = /** @type {any} */ ({ stages: [] });

test("a view runs, then shows its result, or fails with a problem", () => {
  assert.equal(viewState(EMPTY).state, "running");
  assert.equal(viewState({ ...EMPTY, result: RESULT }).state, "shown");
  const failed = viewState({ ...EMPTY, problem: PROBLEM });
  assert.equal(failed.state, "failed");
  assert.equal(failed.problem, PROBLEM);
});

test("a compilation that stopped after some passes shows these passes", () => {
  assert.equal(viewState({ ...EMPTY, result: RESULT, problem: PROBLEM }).state, "shown");
});

test("the address leads to the playground at the reader's position", () => {
  const page = { ...EMPTY, model: "sample:digits_mlp", pane: "memory", stage: 3, job: "20260101-aa" };
  assert.equal(viewState(page).address, "/#v=1&model=sample:digits_mlp&job=20260101-aa&pane=memory&stage=3");
});
