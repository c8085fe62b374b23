// Light and dark: as the system has it, until the reader says otherwise. The choice is kept nowhere.

const DARK = "prefers-color-scheme: dark";

/** Shows the button that changes sides; `themechange` tells what draws by itself. */
export function themeButton(): void {
  const button = document.getElementById("theme");
  if (!button) return;
  const rules = darkRules();
  let dark = matchMedia(`(${DARK})`).matches;
  const name = (): void => void (button.textContent = dark ? "Light" : "Dark");
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    dark = !dark;
    for (const rule of rules) rule.media.mediaText = dark ? "screen" : "not all";
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    name();
    document.dispatchEvent(new Event("themechange"));
  });
}

/** The rules of the page's own style that hold in the dark. */
function darkRules(): CSSMediaRule[] {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule): rule is CSSMediaRule => rule instanceof CSSMediaRule && rule.media.mediaText.includes(DARK));
}
