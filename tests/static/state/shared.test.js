import assert from "node:assert/strict";
import test from "node:test";
import { embedMarkup, isOfAnotherVersion, openedLink } from "../../../static/js/state/shared.js";

/** @type {import("../../../static/js/wire.js").SharedLink} */
const LINK = {
  id: "Q7mXw2rk",
  path: "/s/Q7mXw2rk",
  fragment: "model=sample:digits_cnn&v=1",
  other: null,
  made_with: "0.1.0",
  program: "0.1.0",
  created: 1_700_000_000,
};

/** @param {string | null} text of the block that the server may have put into the page */
const pageWith = (text) => ({
  getElementById: (/** @type {string} */ id) =>
    id === "link" && text !== null ? /** @type {any} */ ({ textContent: text }) : null,
});

test("a page without a link, or with an empty link, has no link data", () => {
  for (const text of [null, ""])
    assert.deepEqual(openedLink(pageWith(text)), { link: null, problem: null });
});

test("a link that cannot be opened gives a problem instead of a link", () => {
  const error = { code: "E-LINK-UNKNOWN", message: "there is no link 'abcdefgh'" };
  assert.deepEqual(openedLink(pageWith(JSON.stringify({ error }))), { link: null, problem: error });
  assert.deepEqual(openedLink(pageWith(JSON.stringify(LINK))), { link: LINK, problem: null });
});

test("only a link of another version is reported as outdated", () => {
  assert.equal(isOfAnotherVersion(null), false);
  assert.equal(isOfAnotherVersion(LINK), false);
  assert.equal(isOfAnotherVersion({ ...LINK, program: "0.1.1" }), true);
  assert.equal(isOfAnotherVersion({ ...LINK, made_with: "0.0.9" }), true);
});

test("embedding markup contains the link's URL and an escaped title", () => {
  const markup = embedMarkup("https://lab.example:8443", LINK, `a "b" <c> & 'd' – é`);
  assert.match(markup, /^<iframe src="https:\/\/lab\.example:8443\/embed\/s\/Q7mXw2rk" /);
  assert.match(markup, / title="a &quot;b&quot; &lt;c&gt; &amp; 'd' – é" /);
  assert.match(markup, / width="\d+" height="\d+" .*loading="lazy"><\/iframe>$/);
  assert.equal(markup.match(/</g)?.length, 2);
});
