// Entry point of the pages of the course: the map, or a lesson.
import { mountLesson } from "./course/lesson.js";
import { mountMap } from "./course/map.js";
import { listen, part } from "./elements/dom.js";
import { startTheme, toggleTheme } from "./elements/theme.js";

startTheme();
listen(part(document, "theme"), { click: toggleTheme });

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
if (main.dataset.part === "course") mountMap(main);
else if (main.dataset.part === "lesson") mountLesson(main);
