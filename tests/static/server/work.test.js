import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../../static/js/", import.meta.url);
const texts = Object.fromEntries(
  readdirSync(ROOT, { recursive: true, encoding: "utf-8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => [name, readFileSync(new URL(name, ROOT), "utf-8")]),
);
/** @param {RegExp} pattern */
const having = (pattern) => Object.keys(texts).filter((name) => pattern.test(texts[name])).sort();

test("only one module of the playground sends requests that start jobs, and one of the course", () => {
  assert.deepEqual(having(/^import \{[^}]*\bwork\b[^}]*\} from/m), ["embed.js", "main.js"]);
  assert.deepEqual(having(/\bpost\(/), ["server/api.js", "server/course.js", "server/work.js"]);
  const importers = having(/from "[./]*server\/course\.js"/);
  assert.ok(importers.length > 1 && importers.every((name) => name.startsWith("course/")));
  const elsewhere = [...texts["server/api.js"].matchAll(/post\((["`][^,]*),/g)].map((found) => found[1]);
  assert.deepEqual(
    elsewhere.filter((path) => path.includes("jobs")),
    [],
  );
});

test("an embedded view can start no job except the compilation of its link, and findings in this site's pages", () => {
  const uses = texts["embed.js"].match(/(?<!import \{ )\bwork\b(?! \} from|\.js)/g);
  assert.equal(uses?.length, 2);
  assert.match(texts["embed.js"], /createCompiler\(state, work\.submit\)/);
  assert.match(texts["embed.js"], /mountEmbed\(main, state, layouter, isOwn \? work : null\)/);
});
