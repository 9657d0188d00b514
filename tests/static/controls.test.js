// Tests that the URL has the state of every control, or that a reason for its absence is here.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import test from "node:test";
import { PLACE_KEYS, SWITCHES, TABLES } from "../../static/js/state/url.js";

/** Reasons for controls whose state is irrelevant to the recipient of a link. */
const NO_STATE = {
  acts: "it performs an action, whose result is state",
  reader: "it is a setting of the reader: keys, theme, disk",
  progress: "it is the work of a reader in the course, which stays in the browser",
  shown: "it shows a text that is derived from the state",
};

/**
 * For each control of each template, by its part or data name, the key that stores its state (of a
 * place or a switch), or the reason why none does.
 * @type {Record<string, Record<string, string>>}
 */
const CONTROLS = {
  "_lesson.html": { "": "progress", text: "progress" },
  "_macros.html": { "write-text": "written", level: "level" },
  "_measuring.html": { seconds: "seconds" },
  "_pipeline.html": { add: "acts", "": "pipeline-text", text: "pipeline" },
  "bisect.html": { "bisect-moved": "moved" },
  "code.html": { kernel: "kernel" },
  "compare.html": {
    preset: "planned",
    editor: "compare-editor",
    "kernel-a": "pair",
    "kernel-b": "pair",
    level: "code",
    mode: "sides",
    all: "compare-whole",
  },
  "devices.html": { platform: "platform", scheduler: "scheduler", ahead: "ahead" },
  "embed.html": { slider: "stage", shows: "reader", "pane-name": "reader" },
  "graph.html": {
    view: "view",
    color: "color",
    search: "find",
    export: "acts",
    table: "table",
    over: "over",
  },
  "help.html": { single: "reader" },
  "kernels.html": { side: "kernels", "selected-only": "kernels-selected" },
  "learn.html": { file: "acts" },
  "profile.html": { "": "shown", by: "flame" },
  "run.html": {
    source: "acts",
    numbers: "acts",
    "npy-file": "acts",
    "image-file": "acts",
    "sound-file": "acts",
    range: "acts",
  },
  "share.html": {
    short: "shown",
    embed: "shown",
    full: "shown",
    "report-command": "shown",
    command: "shown",
    "other-command": "shown",
  },
  "start.html": {
    file: "model",
    preset: "pipeline",
    precision: "precision",
    threads: "threads",
    "": "model",
    on: "pipeline",
  },
  "steps.html": { outcome: "outcome", rule: "rule", "selected-only": "steps-selected" },
  "targets.html": { kernel: "kernel", target: "targets" },
  "text.html": { mode: "diff", base: "base", all: "text-whole" },
  "tuning.html": {
    kernel: "tune",
    budget: "tune",
    search: "tune",
    which: "candidates",
    "all-candidates": "tuning-table",
  },
  "walk.html": { filter: "filter", base: "base", order: "order" },
};

/** @param {string} folder @param {string} ending */
const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith(ending));

const CONTROL =
  /<(?:select|input|textarea|details)\b([^>]*)>|<button\b([^>]*\baria-(?:pressed|checked)=[^>]*)>/g;

/** @param {string} path */
function controlsOf(path) {
  return [...readFileSync(path, "utf8").matchAll(CONTROL)].map(([, field, button]) => {
    const attributes = field ?? button;
    const part = /data-part="([\w-]+)"/.exec(attributes)?.[1];
    return part ?? /data-([\w-]+)="/.exec(attributes)?.[1] ?? "";
  });
}

test("every control of a template is stored in the URL or declared to have no state", () => {
  const found = filesIn("templates", ".html")
    .map((path) => /** @type {const} */ ([basename(path), new Set(controlsOf(path))]))
    .filter(([, names]) => names.size > 0);
  assert.ok(found.length > 15, "the templates were read");
  for (const [file, names] of found)
    assert.deepEqual([...names].sort(), Object.keys(CONTROLS[file] ?? {}).sort(), file);
  assert.deepEqual(found.map(([file]) => file).sort(), Object.keys(CONTROLS).sort());
});

test("every key that stores a control is declared", () => {
  const known = new Set([...PLACE_KEYS, ...SWITCHES, ...Object.keys(NO_STATE)]);
  for (const [file, controls] of Object.entries(CONTROLS))
    for (const [name, keeper] of Object.entries(controls))
      assert.ok(known.has(keeper), `${file} ${name}: ${keeper}`);
});

test("every table of a pane and every sortable column has a name", () => {
  /** @type {string[]} */
  const names = [];
  for (const path of filesIn("static/js/panes", ".js")) {
    const text = readFileSync(path, "utf8");
    names.push(...[...text.matchAll(/^\s+name: (?:\/\*\* @type \{const\} \*\/ \()?"([\w-]+)"\)?,\n\s+caption:/gm)].map(([, name]) => name));
    const sorting = text.match(/^\s+order: \(/gm)?.length ?? 0;
    const named = text.match(/^\s+id: ["`\w][^\n]*,\n\s+title: /gm)?.length ?? 0;
    if (sorting) assert.ok(named >= sorting, `${path}: ${named} of ${sorting} columns are named`);
  }
  assert.deepEqual(names.sort(), [...TABLES].sort());
});
