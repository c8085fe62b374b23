// Elements, made without markup: whatever comes from a recording becomes text.

type Child = Node | string;

/** An element with attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A button that does something. */
export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", title, "aria-label": title }, text);
  made.addEventListener("click", act);
  return made;
}
