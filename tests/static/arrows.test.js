// Tests of the order of imports between the folders of static/js.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, normalize } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../static/js", import.meta.url));

/** A folder imports only from itself and from earlier folders; the entry points import from all. */
const ORDER = [
  "text",
  "arrays",
  "elements",
  "charts",
  "results",
  "graph",
  "state",
  "server",
  "jobs",
  "panes",
  "course",
  "",
];
const IMPORT = /^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)"/gm;

/** @param {string} path */
const place = (path) => ORDER.indexOf(path.includes("/") ? path.split("/")[0] : "");

test("folders import only from folders before them", () => {
  const modules = readdirSync(ROOT, { recursive: true, encoding: "utf-8" }).filter((path) =>
    path.endsWith(".js"),
  );
  assert.ok(modules.length > 100);
  for (const module of modules) {
    assert.notEqual(place(module), -1, `${module}: its folder has no place in ORDER`);
    const text = readFileSync(join(ROOT, module), "utf-8");
    for (const [, from] of text.matchAll(IMPORT)) {
      const imported = normalize(join(module, "..", from));
      assert.ok(place(imported) <= place(module), `${module} imports ${imported}`);
    }
  }
});
