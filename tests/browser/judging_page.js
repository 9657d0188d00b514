// A page of the browser tests: the modules of the course without the course.
import { judgeInPage, NoPython, warmPython } from "../../static/js/course/python/judge_in_page.js";
import { openEditor } from "../../static/js/course/editor/editor.js";

Object.assign(window, { judgeInPage, NoPython, warmPython, openEditor });
