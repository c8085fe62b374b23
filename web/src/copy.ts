// Commands to copy.

const SHOWN_MS = 1500;

/** Shows the button beside every command. */
export function copyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button.copy")) {
    const command = button.previousElementSibling;
    if (!command) continue;
    button.hidden = false;
    button.addEventListener("click", () => void copy(command).then((done) => said(button, done ? "Copied" : "Press Ctrl+C")));
  }
}

async function copy(command: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(command.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(command); // where a page may not write to the clipboard
    return false;
  }
}

function said(button: HTMLButtonElement, text: string): void {
  button.textContent = text;
  setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
}
