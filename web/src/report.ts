// The report: everything that is text stands in the page; this adds what moves.
import { copyButtons } from "./copy";
import { explainNumbers } from "./explain";
import { markPlace } from "./contents";
import { liveTables } from "./tables";
import { themeButton } from "./theme";

themeButton();
copyButtons();
liveTables();
explainNumbers();
markPlace();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));
