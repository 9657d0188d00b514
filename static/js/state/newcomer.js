// Whether this reader has seen the tour: a setting of the reader, which links omit.

const STORED = "compilarium.tour";

/** @returns {boolean} whether the tour was neither taken nor dismissed in this browser */
export const isNewcomer = () => localStorage.getItem(STORED) === null;

/** Do not invite this reader again. */
export const rememberTour = () => localStorage.setItem(STORED, "seen");
