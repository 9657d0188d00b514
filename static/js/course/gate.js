// Opens once, when something has been in sight for a moment and is allowed to load.

/** Time in sight in milliseconds; a reader who leafs through the steps loads nothing. */
export const IN_SIGHT_MS = 400;

/**
 * @param {() => void} open called once
 * @returns {{see: (isSeen: boolean) => void, allow: (isAllowed: boolean) => void}}
 */
export function createGate(open) {
  let isSeen = false;
  let isAllowed = false;
  let isOpen = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function consider() {
    clearTimeout(timer);
    if (isOpen || !isSeen || !isAllowed) return;
    timer = setTimeout(() => {
      isOpen = true;
      open();
    }, IN_SIGHT_MS);
  }

  return {
    see(next) {
      if (next === isSeen) return;
      isSeen = next;
      consider();
    },
    allow(next) {
      if (next === isAllowed) return;
      isAllowed = next;
      consider();
    },
  };
}
