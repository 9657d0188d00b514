// The scene of the chosen stage, made in turns: what is drawn stays until the next one is there, and a
// later wish ends what is being made for an earlier one.
import { sceneSteps } from "../graph/scene.js";
import { differs } from "../snapshots.js";
import { inTurns } from "../turns.js";

/**
 * @typedef {import("../graph/places.js").Places} Places
 * @typedef {import("../graph/scene.js").Scene} Scene
 * @typedef {import("../wire.js").Union} Union
 *
 * @typedef {object} Made
 * @property {Scene | null} scene null while there is nothing to draw
 * @property {Union | null} union whose places it has
 * @property {number} stage
 *
 * @typedef {object} Scenes
 * @property {(places: Places | null, union: Union | null) => Promise<void>} place
 *   gives the nodes places, ends when a scene has them
 * @property {() => void} stop
 */

/**
 * @param {import("../page.js").PageState} state
 * @param {(made: Made) => void} take called with every scene, in one go with what belongs to it
 * @returns {Scenes}
 */
export function createScenes(state, take) {
  /** @type {{places: Places | null, union: Union | null}} */
  let at = { places: null, union: null };
  let request = 0;
  let making = Promise.resolve();

  async function make() {
    const number = ++request;
    const isWanted = () => number === request;
    const { graph, before, view, result, stage, base } = state.get();
    const { places, union } = at;
    if (!places || !graph) return take({ scene: null, union, stage });
    const changed = differs(result?.stages ?? [], stage, base);
    const scene = await inTurns(sceneSteps(places, before, graph, view, changed), isWanted);
    if (scene && isWanted()) take({ scene, union, stage });
  }

  const stop = state.watch(["graph", "before", "view"], () => {
    making = make();
  });
  return {
    async place(places, union) {
      at = { places, union };
      making = make();
      // Who walks on meanwhile has another one made.
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
