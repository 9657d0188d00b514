// Builds the scene of the chosen stage in time slices. The drawn scene remains until the next scene is
// ready; a later request cancels an earlier request. Neighbouring scenes are built when the page is idle.
import { sceneSteps } from "../../graph/scene.js";
import { graphsAt } from "../../jobs/loader.js";
import { differs } from "../../results/snapshots.js";
import { nextStage } from "../../results/stages.js";
import { idleTask, inTimeSlices, nextTask } from "../../elements/scheduling.js";

/**
 * @typedef {import("../../graph/places.js").Places} Places
 * @typedef {import("../../graph/scene.js").Scene} Scene
 * @typedef {import("../../wire.js").Union} Union
 * @typedef {Parameters<typeof sceneSteps>} Wish inputs of a scene
 *
 * @typedef {object} Made
 * @property {Scene | null} scene null while there is nothing to draw
 * @property {Union | null} union the union that defines the positions
 * @property {number} stage
 *
 * @typedef {object} Scenes
 * @property {(places: Places | null, union: Union | null) => Promise<void>} place
 *   sets the positions of the nodes; resolves when a scene with these positions exists
 * @property {() => void} stop
 */

/**
 * @param {import("../../state/page.js").PageState} state
 * @param {(made: Made) => void} take called with every scene and its context
 * @returns {Scenes}
 */
export function createScenes(state, take) {
  /** @type {{places: Places | null, union: Union | null}} */
  let at = { places: null, union: null };
  let request = 0;
  let making = Promise.resolve();
  /** The drawn scene, and the scenes of neighbouring stages. @type {{wish: Wish, scene: Scene}[]} */
  let kept = [];
  const keptFor = (/** @type {Wish} */ wish) => kept.find((each) => isSame(each.wish, wish));

  /** Build the scene of a request, unless a later request replaces it. */
  async function sceneOf(/** @type {Wish} */ wish, /** @type {() => boolean} */ isWanted, pause = nextTask) {
    const known = keptFor(wish);
    if (known) return known.scene;
    const scene = await inTimeSlices(sceneSteps(...wish), isWanted, pause);
    if (!scene || !isWanted()) return null;
    kept.push({ wish, scene });
    return scene;
  }

  async function make() {
    const number = ++request;
    const isWanted = () => number === request;
    const { graph, before, view, result, stage, base } = state.get();
    const { places, union } = at;
    if (!places || !graph) {
      kept = [];
      return take({ scene: null, union, stage });
    }
    /** @type {Wish} */
    const wish = [places, before, graph, view, differs(result?.stages ?? [], stage, base)];
    const scene = await sceneOf(wish, isWanted);
    if (!scene) return;
    take({ scene, union, stage });
    void makeAhead(places, wish, isWanted).catch(() => {}); // an error appears when the user chooses the stage
  }

  /** Build the neighbouring scenes, and drop all other scenes except the drawn scene. */
  async function makeAhead(/** @type {Places} */ places, /** @type {Wish} */ drawn, /** @type {() => boolean} */ isWanted) {
    const { parts, result, stage, base, view } = state.get();
    /** @type {Wish[]} */
    const wishes = [drawn];
    await idleTask();
    const stages = result?.stages ?? [];
    for (const direction of /** @type {const} */ ([1, -1])) {
      const near = nextStage(stages, stage, direction, false);
      // With a chosen base of comparison, every scene needs new marks.
      if (!parts || base >= 0 || near === stage || !isWanted()) continue;
      const { graph, before } = await graphsAt(parts, stages, near, base);
      /** @type {Wish} */
      const wish = [places, before, graph, view, differs(stages, near, base)];
      wishes.push(wish);
      await sceneOf(wish, isWanted, idleTask);
    }
    if (isWanted()) kept = kept.filter((each) => wishes.some((wish) => isSame(each.wish, wish)));
  }

  const stop = state.watch(["graph", "before", "view"], () => {
    making = make();
  });
  return {
    async place(places, union) {
      at = { places, union };
      making = make();
      // Another stage may be chosen during the wait: continue until the latest scene is ready.
      for (let last = null; last !== making; ) {
        last = making;
        await last;
      }
    },
    stop() {
      request += 1;
      stop();
    },
  };
}

/** @param {Wish} one @param {Wish} other */
function isSame(one, other) {
  return one.every((part, i) => part === other[i]);
}
