// Tests of the first sign of activity.
import assert from "node:assert/strict";
import { test } from "node:test";
import { whenActive } from "../../../static/js/elements/activity.js";

for (const sign of ["pointermove", "keydown", "change", "dragenter"]) {
  test(`work starts once, at the first ${sign}`, () => {
    const page = new EventTarget();
    let n = 0;
    whenActive(() => n++, page);
    assert.equal(n, 0);
    page.dispatchEvent(new Event(sign));
    page.dispatchEvent(new Event(sign));
    page.dispatchEvent(new Event("pointerdown"));
    assert.equal(n, 1);
  });
}
