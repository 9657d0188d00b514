// Entry point of the page of the glossary, which needs a script for the chosen theme only.
import { startTheme } from "./elements/theme.js";

startTheme();
